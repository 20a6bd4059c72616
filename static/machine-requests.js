/* What pictures of a machine and the tokens over them are requested with; answers are kept. */

import { passedBy } from "./graph.js";
import { chosen, pictureKey, unfoldedRequest } from "./machine-view.js";
import { cards, grammarOf, state } from "./state.js";
import { readOf } from "./tokens.js";
import { treeRequest } from "./tree.js";

/** @import { MachineView } from "./machine-view" */
/** @import { PictureRequest } from "./state.js" */

/** An answer from the server, or the one it gave before. @param {import("./ask.js").Ask} ask */
export async function remembered(ask, server, question, asked) {
  const key = JSON.stringify([question, asked, state.model]),
    kept = answers.get(key);
  answers.delete(key);
  const answer = (await kept) ?? ask(server[question], asked);
  const usable = Promise.resolve(answer).then(
    (picture) => (picture.fault ? null : picture),
    () => null,
  );
  answers.set(key, usable);
  if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  return answer;
}

/** The number of tokens before a step, or with it. */
function countBefore(step, atEnd) {
  const at = state.steps.indexOf(step);
  return at < 0 ? state.steps.length : at + (atEnd ? 1 : 0);
}

/** The bytes read before a step, or with it, as hexadecimal digits. */
function bytesBefore(step, atEnd = false) {
  if (!step) return "";
  if (step.before !== undefined) return step.before; // of a token or test that is explained
  return state.steps
    .slice(0, countBefore(step, atEnd))
    .map((each) => readOf(each) ?? "")
    .join("");
}

/** The run's own mask there, where it may allow fewer tokens than the grammar; a text that is tested has none. */
const maskBefore = (step, atEnd) =>
  step && step.before === undefined ? (cards.run?.masked(countBefore(step, atEnd)) ?? {}) : {};

export const QUESTIONS = { railroad: "draw_railroad", tree: "draw_parse_tree" };
const answers = new Map();

/** For each tab and grammar the size of the box when it was first drawn. */
const layouts = new Map();

const KEPT = 120; // answers kept, for going back and forth

export const HIDDEN = 200; // pixels: a narrower box was not shown yet when its picture was laid out

/** The box for which a machine of the grammar is laid out: that of its first picture. @param {MachineView} view */
function laidOutFor(view) {
  const key = pictureKey(view);
  const size = layouts.get(key) ?? { width: view.box.clientWidth, height: view.box.clientHeight };
  if (size.width >= HIDDEN) layouts.set(key, size);
  if (layouts.size > KEPT) layouts.delete(layouts.keys().next().value);
  return size;
}

/** The request for a picture that opens at a state.
      @returns {PictureRequest} @param {MachineView} view */
export function requestOf(view, centre) {
  const { example } = state.compiled;
  const { chains, size, level } = chosen;
  /** @type {Partial<PictureRequest>} */
  const more =
    view.tab === "railroad"
      ? { width: view.box.clientWidth }
      : view.tab === "tree"
        ? { width: view.box.clientWidth, height: view.box.clientHeight, ...treeRequest(...view.current) }
        : {
            ...laidOutFor(view),
            chains,
            ...unfoldedRequest(view),
            ...(view.tab === "stack" || view.tab === "rules" ? { level } : view.tab === "characters" ? { size } : {}),
          };
  return { ...grammarOf(state.compiled), example, tab: view.tab, centre: centre || "", ...more };
}

/** The request for the tokens that may follow at a step, or after its token. @param {MachineView} view */
export function flagRequestOf(view, step, atEnd) {
  const { example, tabs } = state.compiled;
  return {
    ...grammarOf(state.compiled),
    example,
    tab: view.tab,
    chains: chosen.chains,
    ...unfoldedRequest(view),
    centre: passedBy(view.known, step, atEnd).standing[0] || "",
    // a machine with a stack is where its text has led it; one without is in its state
    ...(tabs.characters ? { so_far: bytesBefore(step, atEnd) } : {}),
    ...maskBefore(step, atEnd),
  };
}
