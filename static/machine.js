/* One machine of a grammar as a picture that follows the run. The server lays it out for the size of the box, around
   the current state. The old picture stays until the new one arrives; every token lights its states. */

import { debounce, el } from "./dom.js";
import { createGraph, passedBy } from "./graph.js";
import { askServer, cards, emit, grammarOf, on, state } from "./state.js";
import { saved } from "./storage.js";
import { readOf } from "./tokens.js";
import { treeRequest } from "./tree.js";

/** @import { Answer, Edge, Picture, Servers } from "./wire" */

const KEPT = 60; // pictures kept, for going back and forth
const PAUSE = 900; // milliseconds between two pictures while a run streams: drawing must not slow it
const COMPILING = "First start: the engine is being compiled. The last picture is shown until the next one is ready.";
const MOVED = 24; // pixels by which a box may change before its picture is laid out anew

/** How pictures are looked at, the same for all of them; kept in the browser. */
const USUAL = { follow: true, chains: null, size: 0, level: "states", tokens: true, stack: true };
const chosen = { ...USUAL, ...saved.get("picture", {}) };
export const pictureLooks = {
  get: () => chosen,
  set(changes) {
    Object.assign(chosen, changes);
    saved.set("picture", chosen);
    emit("looks", chosen);
  },
};

const answers = new Map();
/** A picture from the server, or the one it gave before. */
async function drawn(server, asked) {
  const key = JSON.stringify([asked, state.model]);
  if (answers.has(key)) {
    const known = answers.get(key);
    answers.delete(key);
    answers.set(key, known);
    return known;
  }
  const answer = (async () => {
    const draw = { railroad: server.draw_railroad, tree: server.draw_parse_tree }[asked.tab] ?? server.draw_machine;
    const result = await askServer(draw, asked);
    return result.fault ? { ok: false, why: result.fault, fault: true } : result;
  })();
  answers.set(key, answer);
  if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  if ((await answer).fault) answers.delete(key);
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

/** ``box`` becomes the picture. ``picked(state)``, ``edge(record)`` report clicks, ``shown(answer)`` a picture
      that is there, ``lost(state)`` that the run has left it and is not followed, ``beyond`` a zoom (``camera.js``).
    @param {HTMLElement} box
    @param {Pick<Servers["picture"], "draw_machine" | "draw_railroad" | "draw_parse_tree">} server
    @param {{ picked?: (state: string) => void, edge?: (edge: Edge, index: number) => void,
      lost?: (state: string) => void, shown?: (answer: Answer<Picture>, sent: any) => void,
      beyond?: (by: number, under: Element) => boolean }} [doors] */
export function createMachine(
  box,
  server,
  { picked = () => {}, edge = () => {}, shown = () => {}, lost = () => {}, beyond = () => false } = {},
) {
  const busy = el("span", { class: "howmuch", role: "status" }),
    say = el("div", { class: "say", hidden: true }, el("div"));
  const bones = el("div", { class: "bones", "aria-hidden": "true" }, ...[0, 1, 2, 3, 4].map(() => el("i")));
  box.prepend(el("div", { class: "canvas" }), bones, busy, say);
  const graph = createGraph(box, picked, {
    edge: (index) => edge(record?.edges[index], index),
    machine: () => tab,
    camera: { beyond },
  });
  let record = /** @type {any} */ (null),
    known = /** @type {any} */ (null),
    tab = "",
    request = 0,
    loading = null,
    where = "",
    sent = /** @type {any} */ (null),
    current = /** @type {[any, boolean]} */ ([null, false]),
    last = 0,
    soon = 0,
    kernels = ""; // the message while the engine is being compiled, else empty

  const blank = (text, waiting) => {
    say.hidden = !text;
    say.firstElementChild.textContent = text || "";
    bones.hidden = !waiting;
  };
  blank("", true);
  /** Say that an answer is awaited; the old picture stays, and is not dimmed if that can take a minute. */
  function wait() {
    box.classList.add("stale");
    box.classList.toggle("compiling", Boolean(kernels));
    if (record) busy.textContent = kernels ? COMPILING : "drawing…";
    else blank(kernels, true);
  }
  on("kernels", (words) => {
    if (words === kernels) return;
    kernels = words;
    if (busy.textContent || !bones.hidden) wait();
  });

  /** The machine that is requested: without its tokens, "together" is the machine below them. */
  const machineOf = () =>
    tab !== "together" || chosen.tokens ? tab : state.compiled.tabs.characters ? "stack" : "characters";
  /** The request for a picture around a state, of a run at a step, or after its token.
      @returns {Record<string, any>} */
  function asked(centre, step, atEnd = false) {
    const { example } = state.compiled;
    const { chains, size, level } = chosen,
      name = machineOf();
    /** @type {Record<string, any>} */
    const more =
      name === "railroad"
        ? { width: box.clientWidth }
        : name === "tree"
          ? { width: box.clientWidth, height: box.clientHeight, ...treeRequest(...current) }
          : {
              width: box.clientWidth,
              height: box.clientHeight,
              chains,
              ...(name === "stack" || name === "rules" ? { level: tab === name ? level : "states" } : { size }),
            };
    // a machine with a stack is where its text has led it; one without is in its state
    if (name === "tokens" || name === "together") {
      if (state.compiled.tabs.characters) more.so_far = bytesBefore(step, atEnd);
      const here = passedBy(known, step, atEnd).standing[0];
      if (centre ? centre === here : state.compiled.tabs.characters) Object.assign(more, maskBefore(step, atEnd));
    }
    return { ...grammarOf(state.compiled), example, tab: name, centre: centre || "", ...more };
  }
  /** Whether the run has gone on since the picture was requested, perhaps in the same state. */
  function hasMoved() {
    if (!sent) return false;
    const now = asked(passedBy(known, ...current).standing[0], ...current);
    return sent.so_far !== now.so_far || JSON.stringify(sent.masked) !== JSON.stringify(now.masked);
  }

  /** Draw, around a state where one is named; the old picture stays until the new one is there. */
  async function load(centre) {
    const mine = ++request;
    loading = centre || "";
    const asking = asked(centre, ...current);
    const slow = setTimeout(() => {
      if (mine === request) wait();
    }, 250);
    const answer = await drawn(server, asking);
    clearTimeout(slow);
    if (mine !== request) return;
    loading = null;
    sent = asking;
    box.classList.remove("stale");
    record = answer.ok ? answer : null;
    known = record ?? known;
    where = centre || "";
    busy.textContent = "";
    blank(answer.ok ? "" : answer.why, false);
    graph.show(record, where);
    shown(answer, asking);
    go(...current);
  }

  /** Light where the run is, and come along where that is wanted. */
  function go(step, atEnd = false) {
    current = [step, atEnd];
    if (tab === "tree") {
      grow();
      return;
    }
    const further = hasMoved();
    if (!known) {
      if (further && loading === null && chosen.follow) load("");
      return;
    }
    const passed = passedBy(known, step, atEnd);
    const found = record && graph.light(passed, { fails: Boolean(step?.reason), atEnd, step });
    const here = passed.standing[0];
    if (!here || loading !== null) return;
    if (found && chosen.follow) graph.follow(here, !state.running); // sixty repaints a move would slow a run
    const elsewhere =
      !record ||
      (record.current !== undefined
        ? record.current !== here || further
        : (!found && record.partial) || (!state.running && record.folded?.includes(here)));
    // the same request gets the same answer: to repeat it would not end
    if (elsewhere && (where !== here || further) && chosen.follow) {
      clearTimeout(soon);
      const wait = state.running ? last + PAUSE - performance.now() : 0;
      if (wait > 0) {
        soon = setTimeout(() => go(...current), wait);
        return;
      }
      last = performance.now();
      load(here);
      return;
    }
    if (!record) return;
    if (!found) lost(here);
    else ahead();
  }
  /** Request the tree of the text up to the current token. */
  function grow() {
    if (loading !== null || !chosen.follow || !sent) return;
    const { so_far, current: at } = treeRequest(current[0], current[1]);
    if (sent.tab === "tree" && sent.so_far === so_far && sent.current === at) return;
    clearTimeout(soon);
    const wait = state.running ? last + PAUSE / 3 - performance.now() : 0;
    if (wait > 0) {
      soon = setTimeout(grow, wait);
      return;
    }
    last = performance.now();
    load("");
  }
  /** Request the picture for the next token before the reader steps there. */
  function ahead() {
    const next = state.steps[state.selected + 1];
    if (state.selected < 0 || !next || !record.partial || !chosen.follow) return;
    const there = passedBy(record, next).standing[0];
    if (there && (record.current !== undefined || !graph.has(there))) drawn(server, asked(there, next));
  }

  const resized = debounce(220, () => {
    if (!record || !sent?.width || !state.compiled?.ok || !box.clientWidth) return;
    if (Math.abs(sent.width - box.clientWidth) > MOVED || Math.abs(sent.height - box.clientHeight) > MOVED) load(where);
  });
  new ResizeObserver(() => resized()).observe(box);

  return {
    graph,
    load,
    go,
    /** Where the run will be in the next picture, or null where the grammar is no longer the run's. */
    expect(step, atEnd) {
      current = [step, atEnd];
    },
    get record() {
      return record;
    },
    get tab() {
      return tab;
    },
    /** What the last picture was requested with. */
    get sent() {
      return sent;
    },
    /** Show a machine of the compiled grammar, around the run's state if it is followed. */
    open(name, centre = "") {
      if (name !== tab) {
        record = known = null;
        graph.show(null);
        blank(kernels, true);
        busy.textContent = "";
      }
      tab = name;
      const standing = !centre && chosen.follow && record ? passedBy(record, ...current).standing[0] : "";
      return load(centre || standing);
    },
    say(text, waiting) {
      record = known = null;
      graph.show(null);
      busy.textContent = "";
      blank(text, waiting);
    },
    /** Dim the picture of an earlier grammar; ``awaited`` if the server reads the new one. */
    stale(on, awaited = false) {
      box.classList.toggle("stale", on);
      if (awaited && kernels) wait();
      else if (on) box.classList.remove("compiling");
    },
  };
}
