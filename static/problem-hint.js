/* The problem at the caret, or under the pointer: its message and the buttons that fix it, next to its text. */

import { fixButton } from "./author.js";
import { place } from "./completion.js";
import { el } from "./dom.js";
import { emit } from "./state.js";

/** Milliseconds that the caret or the pointer rests before the box opens, */
const REST = 350,
  LEAVE = 250; // and until it closes after the pointer has left
const COLOURS = { error: "no", warning: "warn", note: "quiet" };

/** @param {{ area: any, painter: any, host: Element, busy: () => boolean }} parts */
export function createProblemHint({ area, painter, host, busy }) {
  const box = el("div", { class: "athand", id: "wb-athand", role: "group", "aria-label": "Problem at the caret" });
  box.hidden = true;
  host.append(box);
  let marks = [],
    shown = [],
    closed = null, // the mark whose box was closed with Escape
    timer = 0,
    pointed = false;

  const at = (where) => marks.filter((mark) => mark.from <= where && where <= mark.to);

  function row({ problem }) {
    const fixable = (problem.fix ?? null) !== null;
    return el(
      "div",
      { class: "item" },
      el(
        "span",
        {},
        el("b", { class: `word ${COLOURS[problem.severity] ?? "no"}` }, problem.severity),
        ` ${problem.message}`,
      ),
      problem.hint ? el("span", { class: "hint" }, problem.hint) : null,
      fixable
        ? el("span", { class: "fixline" }, fixButton(problem), el("span", { class: "keys quiet" }, "Ctrl+."))
        : null,
    );
  }

  function show(found) {
    clearTimeout(timer);
    if (!found.length || busy()) {
      hide();
      return;
    }
    if (!box.hidden && found.length === shown.length && found.every((mark, index) => mark === shown[index])) return;
    shown = found;
    box.replaceChildren(...found.slice(0, 3).map(row));
    box.hidden = false;
    area.setAttribute("aria-describedby", box.id);
    place(box, painter.rect(found[0].from));
  }

  function hide() {
    clearTimeout(timer);
    pointed = false;
    if (box.hidden) return;
    const held = box.contains(document.activeElement);
    box.hidden = true;
    shown = [];
    area.removeAttribute("aria-describedby");
    if (held) area.focus();
  }

  /** Show what is at a place once it has been there for a moment. */
  function soon(where, byPointer) {
    const found = where < 0 ? [] : at(where);
    if (!byPointer && pointed) return; // the pointer is on another problem
    clearTimeout(timer);
    pointed = byPointer && found.length > 0;
    if (found.length && found[0] === closed) return;
    if (!byPointer) closed = null; // the caret is elsewhere
    if (found.length) timer = setTimeout(() => show(found), REST);
    if (!found.length && !box.hidden && !box.contains(document.activeElement))
      timer = setTimeout(() => !box.matches(":hover") && hide(), byPointer ? LEAVE : 0);
  }

  area.addEventListener("keydown", (event) => {
    if (event.key === "." && (event.ctrlKey || event.metaKey)) {
      const found = at(area.selectionStart),
        fixes = found.filter(({ problem }) => (problem.fix ?? null) !== null);
      if (!found.length) return;
      event.preventDefault();
      if (fixes.length === 1) {
        hide();
        emit("fix", fixes[0].problem);
        return;
      }
      show(found);
      box.querySelector("button")?.focus();
    } else if (event.key === "Escape" && !box.hidden && !busy()) {
      closed = shown[0];
      hide();
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  });
  box.addEventListener("keydown", (event) => {
    const buttons = [...box.querySelectorAll("button")],
      step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") {
      closed = shown[0];
      hide();
      area.focus();
    } else if (step)
      buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("mousedown", (event) => {
    if (event.target.closest("button")) event.preventDefault(); // the text keeps the caret
  });
  box.addEventListener("click", (event) => {
    if (event.target.closest("button")) hide();
  });
  box.addEventListener("pointerleave", () => {
    if (!at(area.selectionStart).length) hide();
  });
  addEventListener("scroll", ({ target }) => target instanceof Node && target.contains(area) && hide(), true);
  addEventListener("resize", hide);
  area.addEventListener("blur", () => setTimeout(() => !box.contains(document.activeElement) && !pointed && hide()));
  document.addEventListener("pointerdown", (event) => {
    if (event.target !== area && !box.contains(event.target)) hide();
  });

  return {
    /** The marks of the problems, each with its problem. */
    set(list) {
      const same = (mark) =>
        list.find((other) => other.from === mark.from && other.problem.message === mark.problem.message);
      marks = list;
      if (box.hidden) return;
      if (shown.every(same)) shown = shown.map(same);
      else hide();
    },
    caret: (where) => soon(where, false),
    pointer: (where) => soon(where, true),
    hide,
  };
}
