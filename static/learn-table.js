/* The table of a step. Columns that give away the answer to its question are covered until it has been checked. */

import { createTable, el } from "./dom.js";

/** @import { LessonTable } from "./wire" */

/** Words that are wider than a column break anywhere. @param {string} text */
const breaks = (text) => (/\S{11}/.test(text) ? "long" : null);

/** @param {string} text */
const screenReaders = (text) => el("span.sr", text);

/** The parts of a cell that are separated by two spaces are chips. @param {string} text */
function textCell(text) {
  const parts = text.includes("  ") ? text.split("  ").map((part) => el("span.chip", part)) : [text];
  return el("td", { class: text.length < 10 ? "short" : breaks(text) }, ...parts);
}

/** @type {Record<string, string[]>} */
const SIGNS = { "✓": ["good", " yes"], "✗": ["no", " no"] };

/** @param {string} text */
function cell(text) {
  if (!(text in SIGNS)) return textCell(text);
  const [name, spoken] = SIGNS[text];
  return el("td", { class: name }, text, screenReaders(spoken));
}

const coveredCell = () =>
  el("td.later", el("span", { "aria-hidden": "true" }, "?"), screenReaders("hidden until you check the question"));

/** @param {LessonTable} table @param {boolean} checked */
export function createLessonTable({ caption, heads, rows, hidden }, checked) {
  const isCovered = (/** @type {number} */ column) => hidden.includes(column) && !checked;
  const head = (/** @type {string} */ text, /** @type {number} */ column) =>
    isCovered(column) ? el("th.later", { scope: "col", title: "Shown when you check the question" }, text) : text;
  const row = (/** @type {string[]} */ [name, ...texts]) =>
    el(
      "tr",
      el("th", { scope: "row", class: breaks(name) }, name),
      ...texts.map((text, i) => {
        const made = isCovered(i + 1) ? coveredCell() : cell(text);
        made.dataset.head = heads[i + 1]; // on a phone a row is a list
        return made;
      }),
    );
  const table = createTable(heads.map(head), rows.map(row));
  table.prepend(el("caption", caption));
  return el("div.worked", { tabindex: "0", role: "region", "aria-label": caption }, table);
}
