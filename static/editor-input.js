/* What is typed in the editor, its keys and the pointer over it. */

import { hasModifier } from "./dom.js";
import { caretMoved, describeName, goToDefinition, markRelated, sameName } from "./editor-names.js";
import { atCaret, clearMarks, draw, type } from "./editor-state.js";
import { shiftMarks } from "./text-edits.js";

/** @import { Editor } from "./editor-state" */

/** @param {Editor} editor */
function noteInput(editor) {
  const { value, selectionStart, selectionEnd } = editor.area;
  editor.replacesAll = !value.slice(0, selectionStart).trim() && !value.slice(selectionEnd).trim();
}

/** @param {Editor} editor @param {Event & { inputType?: string }} event */
function readInput(editor, event) {
  const text = editor.area.value;
  [editor.problems, editor.places] = [editor.problems, editor.places].map((marks) =>
    shiftMarks(marks, editor.text, text),
  );
  clearMarks(editor);
  [editor.text, editor.origin] = [text, null];
  editor.hint.set(editor.problems);
  draw(editor);
  editor.completion.typed(event);
  editor.changed(
    text,
    editor.replacesAll,
    !editor.replacesAll && !editor.replacing && !/Paste|Drop|history/.test(event.inputType ?? "Paste"),
  );
  editor.replacesAll = false;
}

/** @param {Editor} editor @param {KeyboardEvent} event */
function pressKey(editor, event) {
  const plain = !hasModifier(event) && !event.isComposing;
  if (event.key === "Escape") leave(editor, event);
  else if (event.key === "F12" && goToDefinition(editor, editor.area.selectionStart)) event.preventDefault();
  else if (event.key === "Enter" && plain && !event.shiftKey && editor.notation !== "regex") {
    const line = editor.text.slice(
      editor.text.lastIndexOf("\n", editor.area.selectionStart - 1) + 1,
      editor.area.selectionStart,
    );
    const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
    if (!indent) return;
    event.preventDefault();
    type(editor, `\n${indent}`);
  }
}

/** @param {Editor} editor @param {PointerEvent} event */
function movePointer(editor, event) {
  if (event.pointerType === "touch" || !document.caretPositionFromPoint) return;
  cancelAnimationFrame(editor.pointerAsked);
  editor.pointerAsked = requestAnimationFrame(() => {
    const under = document.caretPositionFromPoint(event.clientX, event.clientY);
    const over = under && under.offsetNode === editor.area ? under.offset : -1;
    const found = editor.notation === "regex" ? null : sameName(editor, over);
    editor.hint.pointer(over);
    editor.area.title = found ? describeName(editor, found) : "";
    markRelated(editor, found ? over : atCaret(editor), true);
  });
}

/** @param {Editor} editor */
export function listen(editor) {
  editor.area.addEventListener("beforeinput", () => noteInput(editor));
  editor.area.addEventListener("input", (event) => readInput(editor, event));
  editor.area.addEventListener("keydown", (event) => pressKey(editor, event));
  editor.area.addEventListener("click", (event) => {
    if ((event.ctrlKey || event.metaKey) && goToDefinition(editor, editor.area.selectionStart)) event.preventDefault();
  });
  editor.area.addEventListener("pointermove", (event) => movePointer(editor, event));
  editor.area.addEventListener("pointerleave", () => {
    cancelAnimationFrame(editor.pointerAsked);
    editor.area.title = "";
    editor.hint.pointer(-1);
    caretMoved(editor);
  });
  editor.area.addEventListener("blur", () => caretMoved(editor));
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === editor.area) caretMoved(editor);
  });
}

/** Back to the link that led here, or out, so that Tab and the page's own keys work from there.
    @param {Editor} editor @param {KeyboardEvent} event */
function leave(editor, event) {
  const back = editor.origin?.isConnected && editor.origin !== document.body ? editor.origin : null;
  editor.origin = null;
  editor.area.blur();
  if (!back) return;
  event.stopPropagation();
  back.focus();
}
