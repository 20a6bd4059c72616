/* A replay: one file that plays a run. The page's own cards draw it; what they would request from the server is in the
   file. Nothing is loaded, nothing is sent. */

import { el, hasModifier } from "./dom.js";
import { createInspector } from "./inspector.js";
import { notations } from "./notations.js";
import { createPainter, piecesOf } from "./paint.js";
import { mountPicture } from "./picture.js";
import { mountRun } from "./run.js";
import { STAGES } from "./stages.js";
import { cards, emit, grammarOf, on, state, TABS } from "./state.js";
import { toggleTheme } from "./theme.js";

/** Shows a sentence in the place of the run where records of the file have another shape. */
function refuse(event) {
  if (!(event.error ?? event.reason)) return; // a message of the browser, of no script
  event.preventDefault();
  document
    .querySelector("main")
    .replaceChildren(
      el(
        "p.wb.unreadable",
        { role: "alert" },
        "This replay cannot be shown: its records are damaged, or another version wrote them. Export the run again.",
      ),
    );
}
window.addEventListener("error", refuse);
window.addEventListener("unhandledrejection", refuse);

const { about, steps, end, pictures, flags, reasons, narrows } = JSON.parse(
  String(document.getElementById("recording")?.textContent),
);
const find = (selector) => document.querySelector(selector);
/** @returns {Promise<any>} */
const nothing = async () => ({ ok: false, why: "a replay has no server to ask" });

/** The picture of a machine: the one that shows a state, else its first. */
function drawn({ tab, centre }) {
  const made = pictures[tab] || [],
    [first] = made;
  if (!first) return { ok: false, why: "this machine is not in the file" };
  return made.find((picture) => !centre || picture.where[centre]) ?? first;
}
/** The tokens that may follow at a step. */
const flagsOf = ({ centre, so_far, masked }) =>
  flags.find(({ of }) => of.includes(masked?.step ?? so_far ?? centre)) ?? {
    ok: false,
    why: `The tokens of this step are not in the file (it has those of ${flags.length}).`,
  };
const lines = [...steps, ...(end ? [{ ...end, k: "stop" }] : [])].map((record) => JSON.stringify(record)).join("\n");
/** @type {any} */
const server = {
  draw_machine: async (asked) => drawn(asked),
  draw_flags: async (asked) => flagsOf(asked),
  recorded_run: async () => lines,
  draw_railroad: nothing,
  draw_parse_tree: nothing,
  find_states: nothing,
  about_state: nothing,
  about_edge: nothing,
};
/** Tokens are looked at here, not taken: an inspector without the requests that take one. */
const inspectOnly = (box) => createInspector(box, { explain: async (_ask, index) => reasons[index] ?? null });

/** Keys that move through the run; those that start one have no use here. */
function bindReplayKeys(within, acts) {
  document.addEventListener("keydown", (event) => {
    if (hasModifier(event) || (document.activeElement !== document.body && event.key !== "p")) return;
    const selected = within(".tok[aria-selected=true]") ?? within(".tok");
    const act = { p: acts.play, ArrowRight: () => selected?.focus(), ArrowLeft: () => selected?.focus() }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    if (event.key !== "p") selected?.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, bubbles: true }));
  });
}

function grammar() {
  const painter = createPainter(find("#wb-grammar .paint"));
  let live = new Set(),
    reading = [];
  const draw = () => painter.draw(about.text, about.notation, reading, live);
  on("live rules", (names) => {
    live = new Set(names);
    draw();
  });
  on("read in", (spans) => {
    reading = piecesOf(about.text, spans, "read-in");
    draw();
  });
  draw();
}

function words() {
  const title = about.title || "A run under a grammar",
    model = about.model || "builtin";
  document.title = `${title} · replay`;
  find(".title").textContent = title;
  find(".made").textContent = [
    `model ${model}`,
    about.constraint === "unconstrained"
      ? "without a mask"
      : about.constraint && about.constraint !== "automaton"
        ? `mask ${about.constraint}${Number.isFinite(about.lookahead) ? `, k = ${about.lookahead}` : ""}`
        : "exact mask",
    ...(about.small_tokens ? ["small tokens"] : []),
    ...(about.monitor ? [`monitor ${about.monitor}`] : []),
    ...(about.draft ? [`draft model ${about.draft}`] : []),
    ...(about.reasoning ? [`reasoning up to ${about.reasoning.closing}`] : []),
    ...(about.finish ? [`must finish in ${about.max_tokens} tokens`] : []),
    ...["temperature", ...STAGES]
      .filter((name) => Number.isFinite(about[name]))
      .map((name) => `${name.replace(/^(top|min)_/, "$1-").replaceAll("_", " ")} ${about[name]}`),
    ...(about.seed === undefined ? [] : [`seed ${about.seed}`]),
  ].join(" · ");
  const messages = (about.chat ?? []).map(({ role, content }) => `${role}: ${content}\n`);
  find("pre.prompt").textContent = messages.join("") + (about.chat ? "user: " : "") + (about.prompt || "");
  find(".promptbox").hidden = !about.prompt && !about.chat;
  find(".facts").textContent = notations[about.notation].label;
  find(".credits").textContent = `Made with the grammar workbench ${about.version || ""}`.trim();
}

const missing = (tab) => (pictures[tab] ? "" : "not in this replay");
const tabs = Object.fromEntries(TABS.map((tab) => [tab, missing(tab)]));
const tab = [about.tab, ...TABS].find((each) => tabs[each] === "");
const compiled = { ok: true, ...grammarOf(about), example: "", facts: [], problems: [], tabs };
Object.assign(state, { ...grammarOf(about), prompt: about.prompt, tests: [], tab, compiled });

document.body.classList.add("replay");
find(".theme").addEventListener("click", toggleTheme);
words();
grammar();
mountPicture({ element: find("#wb-picture"), server });
mountRun({ element: find("#wb-run"), server }, { makeInspector: inspectOnly, bindKeys: bindReplayKeys });
// a picture of the run's own tokens belongs to one step, and not to all steps in a state
if (narrows) cards.run.masked = (count) => ({ masked: { step: `after ${count}` } });
for (const card of document.querySelectorAll(".wb")) card.style.visibility = "";
state.example = { name: "recording", title: about.title, notation: about.notation, accepts: [], rejects: [], tab };
emit("example", state.example);
emit("compiled", { looks: "", inside: null, ms: 0, phases: [], ...compiled });

/** For the console and the tests. */
window.wb = { state };
