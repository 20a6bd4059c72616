/* The editor: a plain text area over a coloured copy of its text. The area does what browsers do well (typing, undo,
   input methods, screen readers); the copy has colours, line numbers and marks: problems as wavy lines, boxes around
   pieces of the grammar that could read the next byte, all uses of a rule's name, and the matching bracket.
   It is ours because CodeMirror 6 with history, completion and lint adds 109 KB (gzip) to the page's script of 157 KB,
   the editor's modules have 10 KB, and the text area keeps the browser's own undo, dictation and screen reader
   support. */

import { bound } from "./bound.js";
import { createCompletion } from "./completion.js";
import { scrollIntoColumn } from "./dom.js";
import { listen } from "./editor-input.js";
import { go } from "./editor-names.js";
import { atCaret, clearMarks, draw, type } from "./editor-state.js";
import { namesIn } from "./notations.js";
import { createPainter, marksOf, piecesOf, unitsIn } from "./paint.js";
import { createProblemHint } from "./problem-hint.js";
import { sharedLengths } from "./text-edits.js";

/** @import { Editor } from "./editor-state" */

/** Scroll the line of a piece into sight, unless the author is writing. @param {Editor} editor */
function reveal(editor, piece) {
  if (!piece || document.activeElement === editor.area) return;
  const line = editor.painter.element(piece.from);
  line.closest(".sheet").style.paddingBottom = "";
  scrollIntoColumn(editor.box, line, 4);
  if (editor.box.scrollTop) alignRows(editor.box, line);
}

/** Scroll on until no row of text is cut at the top; all rows have one height.
    @param {HTMLElement} box @param {HTMLElement} line */
function alignRows(box, line) {
  const row = Number.parseFloat(getComputedStyle(line).lineHeight),
    top = () => line.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientTop,
    cut = () => ((((top() + 1) % row) + row) % row) - 1; // a pixel is no cut
  if (cut() >= 1) box.scrollTop += cut();
  // near its end the text needs more room below
  if (cut() >= 1) {
    const sheet = /** @type {HTMLElement} */ (line.closest(".sheet"));
    sheet.style.paddingBottom = `${Number.parseFloat(getComputedStyle(sheet).paddingBottom) + cut()}px`;
    box.scrollTop += cut();
  }
}

/** Another grammar, from its first row on. @param {Editor} editor */
function setText(editor, text, kind) {
  editor.area.value = text;
  editor.box.scrollTop = 0;
  [editor.text, editor.notation] = [editor.area.value, kind];
  editor.problems = [];
  editor.places = [];
  clearMarks(editor);
  editor.completion.close();
  editor.hint.set(editor.problems);
  draw(editor);
}

/** Another text as if it had been typed: the browser's undo still knows the one before. @param {Editor} editor */
function replace(editor, text) {
  const [head, tail] = sharedLengths(editor.text, text); // only what differs: long insertions take browsers seconds
  editor.area.focus();
  editor.area.setSelectionRange(head, editor.text.length - tail);
  editor.replacing = true;
  type(editor, text.slice(head, text.length - tail));
  editor.replacing = false;
}

/** Another text without the focus: what changed it is elsewhere. @param {Editor} editor */
function write(editor, text) {
  editor.area.value = text;
  editor.area.dispatchEvent(new Event("input"));
}

/** @param {Editor} editor */
function setNotation(editor, kind) {
  editor.notation = kind;
  editor.names = [];
  draw(editor);
}

/** Problems: [{start, end, severity}] in code points. @param {Editor} editor */
function setProblems(editor, list) {
  const placed = list.filter((problem) => problem.line);
  editor.problems = marksOf(editor.text, placed, (problem) => `squig ${problem.severity}`).map((mark, index) => ({
    ...mark,
    problem: placed[index],
  }));
  editor.hint.set(editor.problems);
  editor.hint.caret(atCaret(editor));
  draw(editor);
}

/** Pieces of the grammar that could have read on, or a part of it: [{start, end}]; none takes them away.
    @param {Editor} editor */
function setPlaces(editor, list, kind = "place") {
  editor.places = piecesOf(editor.text, list, kind);
  draw(editor);
}

/** Pieces of the grammar that read the current token. @param {Editor} editor */
function setReading(editor, spans) {
  if (!spans.length && !editor.reading.length) return;
  editor.reading = piecesOf(editor.text, spans, "read-in");
  draw(editor);
  reveal(editor, editor.reading[0]);
}

/** @param {Editor} editor */
function setLive(editor, rules) {
  const next = new Set(rules);
  if ([...next].join() !== [...editor.live].join()) {
    editor.live = next;
    draw(editor);
    const inner = rules[rules.length - 1];
    if (inner)
      reveal(
        editor,
        namesIn(editor.painter.lines, editor.notation).find((one) => one.defines && one.word === inner),
      );
  }
}

/** Select a piece of the text and bring it into sight. @param {Editor} editor */
function jump(editor, span) {
  const units = unitsIn(editor.text);
  go(editor, units(span.start), units(span.end));
}

/** The editor in ``box``; ``changed`` gets each new text, and whether all of the old one was selected and replaced;
    and whether it was typed; ``server`` answers what can be completed.
    @param {HTMLElement} box @param {import("./wire").Server} server
    @param {(text: string, all: boolean, byHand: boolean) => void} changed */
export function createEditor(box, server, changed) {
  /** @type {HTMLTextAreaElement} */
  const area = box.querySelector("textarea.text");
  const host = /** @type {HTMLElement} */ (box.parentElement);
  const painter = createPainter(box.querySelector(".paint"));
  // both take keys before the editor does, while they are open
  const completion = createCompletion({
    area,
    painter,
    host,
    server,
    notation: () => editor.notation,
    write: (text) => type(editor, text),
    opened: () => hint.hide(),
  });
  const hint = createProblemHint({ area, painter, host, busy: () => completion.open });
  /** @type {Editor} */
  const editor = {
    area,
    painter,
    text: "",
    notation: "regex",
    problems: [],
    places: [],
    reading: [],
    names: [],
    brackets: [],
    live: new Set(),
    caretAsked: 0,
    pointerAsked: 0,
    origin: null,
    markedKey: "",
    replacesAll: false, // whether the edit under way replaces the whole text
    replacing: false, // whether it is the page's own
    completion,
    hint,
    box,
    changed,
  };
  listen(editor);
  draw(editor);
  return {
    ...bound(editor, {
      set: setText,
      replace,
      write,
      notation: setNotation,
      problems: setProblems,
      places: setPlaces,
      readIn: setReading,
      live: setLive,
      jump,
    }),
    area,
  };
}
