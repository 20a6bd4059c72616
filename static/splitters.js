/* Lines between the parts of the workbench, dragged with the mouse or moved with the arrow keys: editor and sections,
   left and right, upper row and run. Each browser keeps its own sizes; on narrow screens there are none. */

import { el, useUp } from "./dom.js";
import { saved } from "./storage.js";

const STEP = 24; // pixels that a key moves a line
const HELP = "Drag or press the arrow keys to resize; double-click or press Enter for the default size";

/** Between two numbers; the lower one where they cross. */
const within = (size, low, high) => Math.max(low, Math.min(high, size));

/** A line that sets the size of ``part``, which ends at the line or, with ``after``, begins there.
    @param {{ name: string, label: string, part: HTMLElement, sideways?: boolean, after?: boolean,
      limits: () => [number, number], apply: (size: number | null) => void }} about */
function createSplitter({ name, label, part, sideways = false, after = false, limits, apply }) {
  const line = el("div", {
    class: `splitter ${sideways ? "upright" : "level"} of-${name}`,
    role: "separator",
    tabindex: "0",
    "aria-label": label,
    "aria-orientation": sideways ? "vertical" : "horizontal",
    title: HELP,
  });
  const sizeNow = () => part.getBoundingClientRect()[sideways ? "width" : "height"];
  const tell = () => {
    const [low, high] = limits();
    line.setAttribute("aria-valuemin", String(Math.round(low)));
    line.setAttribute("aria-valuemax", String(Math.round(Math.max(low, high))));
    line.setAttribute("aria-valuenow", String(Math.round(sizeNow())));
  };
  const set = (size) => {
    const kept = size === null ? null : Math.round(within(size, ...limits()));
    apply(kept);
    if (kept === null) saved.remove(`split-${name}`);
    else saved.set(`split-${name}`, kept);
    tell();
  };
  const by = (move) => set(sizeNow() + (after ? -move : move));

  line.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    line.focus();
    line.setPointerCapture(event.pointerId);
    const place = (moved) => (sideways ? moved.clientX : moved.clientY),
      from = place(event),
      size = sizeNow();
    const move = (moved) => set(size + (after ? from - place(moved) : place(moved) - from));
    const done = () => line.removeEventListener("pointermove", move);
    line.addEventListener("pointermove", move);
    line.addEventListener("lostpointercapture", done, { once: true });
  });
  line.addEventListener("dblclick", () => set(null));
  line.addEventListener("keydown", (event) => {
    const back = sideways ? "ArrowLeft" : "ArrowUp",
      on = sideways ? "ArrowRight" : "ArrowDown";
    if (event.key === back) by(-STEP);
    else if (event.key === on) by(STEP);
    else if (event.key === "Home") set(limits()[0]);
    else if (event.key === "End") set(limits()[1]);
    else if (event.key === "Enter") set(null);
    else return;
    useUp(event);
  });
  line.addEventListener("focus", tell);
  const kept = saved.get(`split-${name}`);
  if (Number.isFinite(kept) && kept > 0) apply(kept);
  tell();
  return line;
}

/** A size as a custom property of an element, with a class while there is one. */
const property = (element, name) => (size) => {
  element.classList.toggle(`split-${name}`, size !== null);
  if (size === null) element.style.removeProperty(`--split-${name}`);
  else element.style.setProperty(`--split-${name}`, `${size}px`);
};

const LEFT = 360,
  RIGHT = 420, // the least widths of the columns, and
  UPPER = 360, // the least height of the upper row
  PANEL = 96,
  EDITOR = 72;

/** The lines around the grammar card.
    @param {HTMLElement} card */
export function createSplitters(card) {
  const panel = /** @type {HTMLElement} */ (card.querySelector(".panel")),
    editor = /** @type {HTMLElement} */ (card.querySelector(".editor")),
    bar = /** @type {HTMLElement} */ (card.querySelector(".sectionbar")),
    main = document.getElementById("wb-main");
  const height = (element) => element.getBoundingClientRect().height;
  bar.before(
    createSplitter({
      name: "panel",
      label: "Height of the sections under the editor",
      part: panel,
      after: true,
      limits: () => [PANEL, height(panel) + height(editor) - EDITOR],
      apply: property(card, "panel"),
    }),
  );
  if (!main) return; // a page with this card alone
  main.append(
    createSplitter({
      name: "left",
      label: "Width of the grammar",
      part: card,
      sideways: true,
      limits: () => [LEFT, main.clientWidth - RIGHT],
      apply: property(main, "left"),
    }),
    createSplitter({
      name: "upper",
      label: "Height of the grammar and its picture",
      part: main,
      limits: () => [UPPER, 2 * innerHeight],
      apply: property(main, "upper"),
    }),
  );
}
