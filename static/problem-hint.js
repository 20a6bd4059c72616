/* The problem at the caret, or under the pointer: its message and the buttons that fix it, next to its text.
   The lint of CodeMirror 6 has the same for the pointer, but needs CodeMirror's editor (``editor.js``). */

import { fixButton } from "./author.js";
import { place } from "./completion.js";
import { arrowTarget, el, targetOf, useUp } from "./dom.js";
import { emit } from "./state.js";

/** @import { createPainter } from "./paint.js" */

/** @typedef {import("./editor-state.js").Mark & { problem: import("./wire").Problem }} ProblemMark */

/** @typedef {{
      box: HTMLElement, marks: ProblemMark[], shown: ProblemMark[], closed: ProblemMark | null, timer: number,
      pointed: boolean, area: HTMLTextAreaElement, painter: ReturnType<typeof createPainter>, busy: () => boolean,
    }} ProblemHint */

/** Milliseconds that the caret or the pointer rests before the box opens, */
const REST = 350;
const LEAVE = 250; // and until it closes after the pointer has left
const COLOURS = { error: "no", warning: "warn", note: "quiet" };

/** @param {ProblemHint} hint */
const marksAt = (hint, where) => hint.marks.filter((mark) => mark.from <= where && where <= mark.to);

function rowOf({ problem }) {
  const fixable = (problem.fix ?? null) !== null;
  return el(
    "div.item",
    el(
      "span",
      el("b", { class: `word ${COLOURS[problem.severity] ?? "no"}` }, problem.severity),
      ` ${problem.message}`,
    ),
    problem.hint ? el("span.hint", problem.hint) : null,
    fixable ? el("span.fixline", fixButton(problem), el("span.keys.quiet", "Ctrl+.")) : null,
  );
}

/** @param {ProblemHint} hint */
function show(hint, found) {
  clearTimeout(hint.timer);
  if (!found.length || hint.busy()) {
    hide(hint);
    return;
  }
  if (
    !hint.box.hidden &&
    found.length === hint.shown.length &&
    found.every((mark, index) => mark === hint.shown[index])
  )
    return;
  hint.shown = found;
  hint.box.replaceChildren(...found.slice(0, 3).map(rowOf));
  hint.box.hidden = false;
  hint.area.setAttribute("aria-describedby", hint.box.id);
  place(hint.box, hint.painter.rect(found[0].from));
}

/** @param {ProblemHint} hint */
function hide(hint) {
  clearTimeout(hint.timer);
  hint.pointed = false;
  if (hint.box.hidden) return;
  const held = hint.box.contains(document.activeElement);
  hint.box.hidden = true;
  hint.shown = [];
  hint.area.removeAttribute("aria-describedby");
  if (held) hint.area.focus();
}

/** Show what is at a place once it has been there for a moment. @param {ProblemHint} hint */
function soon(hint, where, byPointer) {
  const found = where < 0 ? [] : marksAt(hint, where);
  if (!byPointer && hint.pointed) return; // the pointer is on another problem
  clearTimeout(hint.timer);
  hint.pointed = byPointer && found.length > 0;
  if (found.length && found[0] === hint.closed) return;
  if (!byPointer) hint.closed = null; // the caret is elsewhere
  if (found.length) hint.timer = setTimeout(() => show(hint, found), REST);
  if (!found.length && !hint.box.hidden && !hint.box.contains(document.activeElement))
    hint.timer = setTimeout(() => !hint.box.matches(":hover") && hide(hint), byPointer ? LEAVE : 0);
}

/** Keys of the buttons in the box. @param {ProblemHint} hint @param {KeyboardEvent} event */
function pressKey(hint, event) {
  const next = arrowTarget(hint.box, event.key);
  if (event.key === "Escape") {
    hint.closed = hint.shown[0];
    hide(hint);
    hint.area.focus();
  } else if (next) next.focus();
  else return;
  useUp(event);
}

/** @param {{ area: HTMLTextAreaElement, painter: ReturnType<typeof createPainter>, host: Element,
      busy: () => boolean }} parts */
export function createProblemHint({ area, painter, host, busy }) {
  const box = el("div.athand", { id: "wb-athand", role: "group", "aria-label": "Problem at the caret" });
  box.hidden = true;
  host.append(box);
  /** @type {ProblemHint} */
  const hint = {
    box,
    marks: [],
    shown: [],
    closed: null, // the mark whose box was closed with Escape
    timer: 0,
    pointed: false,
    area,
    painter,
    busy,
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "." && (event.ctrlKey || event.metaKey)) {
      const found = marksAt(hint, area.selectionStart),
        fixes = found.filter(({ problem }) => (problem.fix ?? null) !== null);
      if (!found.length) return;
      event.preventDefault();
      if (fixes.length === 1) {
        hide(hint);
        emit("fix", fixes[0].problem);
        return;
      }
      show(hint, found);
      box.querySelector("button")?.focus();
    } else if (event.key === "Escape" && !box.hidden && !busy()) {
      hint.closed = hint.shown[0];
      hide(hint);
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  });
  box.addEventListener("keydown", (event) => pressKey(hint, event));
  box.addEventListener("mousedown", (event) => {
    if (targetOf(event).closest("button")) event.preventDefault(); // the text keeps the caret
  });
  box.addEventListener("click", (event) => {
    if (targetOf(event).closest("button")) hide(hint);
  });
  box.addEventListener("pointerleave", () => {
    if (!marksAt(hint, area.selectionStart).length) hide(hint);
  });
  addEventListener("scroll", ({ target }) => target instanceof Node && target.contains(area) && hide(hint), true);
  addEventListener("resize", () => hide(hint));
  area.addEventListener("blur", () =>
    setTimeout(() => !box.contains(document.activeElement) && !hint.pointed && hide(hint)),
  );
  document.addEventListener("pointerdown", (event) => {
    if (event.target !== area && !box.contains(/** @type {Node} */ (event.target))) hide(hint);
  });
  return {
    /** The marks of the problems, each with its problem. */
    set(list) {
      const same = (mark) =>
        list.find((other) => other.from === mark.from && other.problem.message === mark.problem.message);
      hint.marks = list;
      if (box.hidden) return;
      if (hint.shown.every(same)) hint.shown = hint.shown.map(same);
      else hide(hint);
    },
    caret: (where) => soon(hint, where, false),
    pointer: (where) => soon(hint, where, true),
    hide: () => hide(hint),
  };
}
