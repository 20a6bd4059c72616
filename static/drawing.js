/* The drawing of a machine: states and edges are added, moved and named with the mouse, with fingers or with the
   keyboard alone. Every change is an edit of the machine's text (``machine-text.js``), so that drawing and text are
   two views of one thing and one undo works for both. */

import { createLatest } from "./ask.js";
import { bound } from "./bound.js";
import { debounce, el, svgEl, targetOf } from "./dom.js";
import { addState, arrange, redo, runCommand, setEdgeMode, show, undo } from "./drawing-edits.js";
import { listenToKeys, undoKey } from "./drawing-keys.js";
import { createLabelField, createStepper } from "./drawing-parts.js";
import { listenToPointer } from "./drawing-pointer.js";
import { createState, pointOf } from "./drawing-state.js";
import { act, fit, light, render, select, zoom } from "./drawing-view.js";
import { createFullScreen } from "./full-screen.js";
import { partAt } from "./machine-text.js";
import { on } from "./state.js";

/** @import { Drawing } from "./drawing-state" */
/** @import { Server } from "./wire" */

const HELP =
  "N adds a state, arrows go to the next state, Alt and an arrow moves it. E begins an edge: arrows or letters " +
  "choose its target, Enter draws it. I and F make a state initial or final, Enter edits a label, F2 renames a " +
  "state, Delete removes it. Tab goes through all states and edges.";
const EDGES = "Draw edges: press on a state and drag to another, or press one after the other";
const STEP = "Read a text step by step: the states after each character";
const LARGE = "Use the whole window";

/** The buttons of the bar. @param {() => Drawing} drawing */
const createTools = (drawing) => ({
  add: act("+ State", "Add a state (N, or double-click on empty space)", () => addState(drawing())),
  edge: act("→ Edge", EDGES, () => setEdgeMode(drawing(), !drawing().edgeMode), { "aria-pressed": "false" }),
  undo: act("↶", "Undo (Ctrl+Z)", () => undo(drawing()), { "aria-label": "Undo" }),
  redo: act("↷", "Redo (Ctrl+Shift+Z)", () => redo(drawing()), { "aria-label": "Redo" }),
  arrange: act("Arrange", "Lay all states out again", () => arrange(drawing(), true)),
  fit: act("Fit", "Show the whole machine", () => fit(drawing())),
  step: act("Step", STEP, () => drawing().stepper.toggle(), { "aria-expanded": "false" }),
  large: act("⤢", LARGE, () => {}, { "aria-label": LARGE }),
});

/** The canvas, and its text for a screen reader. */
function createElements() {
  const world = svgEl("g", { class: "world" }),
    svg = svgEl("svg", { class: "machine", "aria-hidden": "false" }, world),
    empty = el("p.quiet.hint"),
    about = el("div.chosen", { hidden: true });
  const canvas = el(
    "div.sketch",
    {
      tabindex: "0",
      role: "application",
      "aria-label": "Drawing of the machine",
      "aria-describedby": "wb-drawing-help",
    },
    svg,
    empty,
    about,
  );
  const listed = el("ul.sr", { "aria-label": "States and edges of the drawing" }),
    aloud = el("p.sr", { role: "status" });
  return { world, svg, empty, about, canvas, listed, aloud };
}

/** ``write`` gets the text after a change; ``more`` are further buttons of the bar.
    @param {HTMLElement} box
    @param {{ server: Server, write: (text: string) => void, more?: HTMLElement[] }} uses */
export function createDrawing(box, { server, write, more = [] }) {
  const tool = createTools(() => drawing),
    elements = createElements(),
    { canvas, listed, aloud } = elements;
  const stepper = createStepper(tool.step, {
    path: (ask, read) => ask(server.machine_path, { text: drawing.text, read }),
    show: (path) => light(drawing, path),
  });
  const drawing = createState(server, write, tool, elements, createLabelField(canvas), stepper);
  const bar = el("div.drawbar", { role: "toolbar", "aria-label": "Drawing" });
  bar.append(...Object.values(tool).slice(0, -1), ...more, tool.large);
  const help = el("p.sr", { id: "wb-drawing-help" }, HELP);
  box.replaceChildren(bar, canvas, stepper.element, help, listed, aloud);
  // the states after a text that another part of the page is about; null for none
  on("light machine", (path) => light(drawing, path));
  listenToPointer(drawing);
  listenToKeys(drawing, box);
  listenToView(drawing, box);
  return {
    ...bound(drawing, { show, undoKey }),
    follow: createFollower(drawing),
    /** Focus the drawing, or the part at a piece of the text. */
    focus(piece) {
      const part = piece && partAt(drawing.model, piece[0], piece[1]);
      if (part) select(drawing, part);
      else canvas.focus();
    },
    /** Problems of the text: [{from, to, severity, message}] in code units. */
    problems(list) {
      const parts = list.map((problem) => ({ ...problem, part: partAt(drawing.model, problem.from, problem.to) }));
      drawing.problems = parts.filter(({ part }) => part);
      render(drawing);
    },
  };
}

/** The wheel, the size of the canvas, and the whole window. @param {Drawing} drawing @param {HTMLElement} box */
function listenToView(drawing, box) {
  const { about, canvas, svg, tool } = drawing;
  about.addEventListener("click", (event) =>
    runCommand(drawing, targetOf(event).closest("[data-command]")?.dataset.command ?? ""),
  );
  svg.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      zoom(drawing, Math.exp(-event.deltaY / 300), pointOf(drawing, event));
    },
    { passive: false },
  );
  new ResizeObserver(debounce(80, () => fit(drawing))).observe(canvas);
  // Esc cancels a label or a choice first
  const leaves = () => !drawing.selected;
  const large = createFullScreen(box, tool.large, { changed: () => fit(drawing), leaves, screen: false });
  // what is below the drawing cannot be seen
  box.addEventListener("focusout", ({ relatedTarget: to }) => {
    const inside = !(to instanceof Element) || box.contains(to) || to.closest("dialog");
    if (large.isOn() && !inside) canvas.focus();
  });
}

/** Lights the states after a text that the model wrote; null: none. @param {Drawing} drawing */
function createFollower(drawing) {
  const following = createLatest({ subject: () => drawing.text });
  let followed = /** @type {string | null} */ (null); // the text of which states were asked last
  return (/** @type {string | null} */ read) => {
    if (drawing.stepper.isOpen() || (read === followed && read === null)) return;
    followed = read;
    following.run(async (ask) => {
      const answer = read === null ? null : await ask(drawing.server.machine_path, { text: drawing.text, read });
      if (!drawing.stepper.isOpen()) light(drawing, answer?.ok ? (answer.sets.at(-1) ?? null) : null);
    });
  };
}
