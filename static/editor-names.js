/* Names and brackets in the editor: the same name and the matching bracket are marked, and a name leads to its
   definition. */

import { atCaret, draw } from "./editor-state.js";
import { namesIn } from "./notations.js";

/** @import { Editor } from "./editor-state" */

/** Characters from which looking for a name takes as long as painting a line. */
const LONG = 10_000;
const PAIRS = { "(": ")", "[": "]", "{": "}" };
const CLOSING = new Set(Object.values(PAIRS));

/** @param {Editor} editor */
export function sameName(editor, place) {
  const words = namesIn(editor.painter.lines, editor.notation);
  const here = words.find((one) => one.from <= place && place <= one.to);
  return here ? { here, all: words.filter((one) => one.word === here.word) } : null;
}

/** What is said of a name under the pointer. @param {Editor} editor */
export function describeName(editor, { here, all }) {
  const defined = all.filter((one) => one.defines),
    used = all.length - defined.length;
  const where = [...new Set(defined.map((one) => editor.painter.number(one.from)))];
  const times = used === 1 ? "once" : `${used} times`;
  return (
    `${here.word}: ${where.length ? `defined in line ${where.join(", ")}` : "not defined"}, ` +
    `${used ? `used ${times}` : "not used"}` +
    (where.length && !here.defines ? " (Ctrl+click or F12 goes there)" : "")
  );
}

/** The bracket next to the caret and the matching one. @param {Editor} editor */
function pairAt(editor, place) {
  const open = [];
  for (const line of editor.painter.lines) {
    let at = line.at;
    for (const [piece, name] of line.pieces) {
      if (name === "op") {
        for (let i = 0; i < piece.length; i++) {
          if (PAIRS[piece[i]]) open.push([at + i, PAIRS[piece[i]]]);
          else if (CLOSING.has(piece[i]) && open.length && open[open.length - 1][1] === piece[i]) {
            const [from] = open.pop(),
              to = at + i;
            if (from === place || from === place - 1 || to === place || to === place - 1) return [from, to];
          }
        }
      }
      at += piece.length;
    }
  }
  return [];
}

/** What belongs to the place of the caret, or of the pointer. @param {Editor} editor */
export function markRelated(editor, place, only = false) {
  const found = sameName(editor, place);
  editor.names =
    found && found.all.length > 1
      ? found.all.map((one) => ({ from: one.from, to: one.to, name: one.defines ? "named def" : "named" }))
      : [];
  if (!only) editor.brackets = pairAt(editor, place).map((at) => ({ from: at, to: at + 1, name: "bracket" }));
  const now = [...editor.names, ...editor.brackets].map((mark) => mark.from + mark.name).join();
  if (now === editor.markedKey) return;
  editor.markedKey = now;
  draw(editor);
}

/** To the rule's definition; from there to where it is named next. @param {Editor} editor */
export function goToDefinition(editor, place) {
  const found = sameName(editor, place);
  if (!found) return false;
  const { here, all } = found;
  const next = here.defines ? all[(all.indexOf(here) + 1) % all.length] : (all.find((one) => one.defines) ?? here);
  go(editor, next.from, next.to);
  return true;
}

/** @param {Editor} editor */
export const caretMoved = (editor) => {
  clearTimeout(editor.caretAsked);
  const delay = editor.text.length > LONG ? 120 : 0; // no key waits for it
  editor.caretAsked = setTimeout(() => markRelated(editor, atCaret(editor)), delay);
  editor.hint.caret(atCaret(editor));
};

/** Select a piece and bring its line into sight. @param {Editor} editor */
export function go(editor, from, to) {
  if (document.activeElement !== editor.area)
    editor.origin = /** @type {HTMLElement | null} */ (document.activeElement);
  editor.area.focus({ preventScroll: true });
  editor.area.setSelectionRange(from, to);
  const line = editor.painter.element(from),
    seen = editor.box.getBoundingClientRect(),
    stands = line?.getBoundingClientRect();
  if (line && (stands.top < Math.max(0, seen.top) || stands.bottom > Math.min(innerHeight, seen.bottom))) {
    editor.box.scrollTop += stands.top - seen.top - (seen.height - stands.height) / 2;
    line.scrollIntoView({ block: "nearest" });
  }
  markRelated(editor, from);
}
