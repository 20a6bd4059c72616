/* The state of the editor: its text, and what is marked in it. */

/** @import { createCompletion } from "./completion.js" */
/** @import { createPainter } from "./paint.js" */
/** @import { createProblemHint } from "./problem-hint.js" */

/** ``origin``: the link that led here; ``markedKey``: what names and brackets are marked; ``replacesAll``: whether the
    edit under way replaces the whole text, and ``replacing`` whether it is the page's own.
    @typedef {{ from: number, to: number, name: string, problem?: object }} Mark
    @typedef {{
      area: HTMLTextAreaElement, painter: ReturnType<typeof createPainter>, text: string,
      notation: string, problems: Mark[], places: Mark[], reading: Mark[], names: Mark[], brackets: Mark[],
      live: Set<string>, caretAsked: number, pointerAsked: number, origin: HTMLElement | null, markedKey: string,
      replacesAll: boolean, replacing: boolean,
      completion: ReturnType<typeof createCompletion>,
      hint: ReturnType<typeof createProblemHint>, box: HTMLElement,
      changed: (text: string, all: boolean, byHand: boolean) => void,
    }} Editor */

/** Up to this many lines are inserted as if typed; the browser's work grows with their square. */
const LINES = 200;

/** @param {Editor} editor */
export const draw = (editor) =>
  editor.painter.draw(
    editor.text,
    editor.notation,
    [...editor.problems, ...editor.reading, ...editor.places, ...editor.names, ...editor.brackets],
    editor.live,
  );

/** Nothing is marked but problems and places. @param {Editor} editor */
export function clearMarks(editor) {
  editor.reading = [];
  editor.names = [];
  editor.brackets = [];
  editor.live = new Set();
  editor.markedKey = "";
}

/** @param {Editor} editor */
export const atCaret = (editor) =>
  editor.area.selectionStart === editor.area.selectionEnd && document.activeElement === editor.area
    ? editor.area.selectionStart
    : -1;

/** Type something as a person would: the browser's undo knows it. Many lines take it seconds, so they go in at
    once. @param {Editor} editor @param {string} text */
export function type(editor, text) {
  if (text.split("\n").length > LINES || !document.execCommand("insertText", false, text)) {
    editor.area.setRangeText(text, editor.area.selectionStart, editor.area.selectionEnd, "end");
    editor.area.dispatchEvent(new Event("input"));
  }
}
