/* The table of a comparison: one row for each method, with its numbers over all seeds and prompts
   and its text below. A row unfolds into its runs. When all runs are done, methods that wrote the same tokens are
   grouped: the group has the numbers and the text, its members only what differs, which is mostly the cost. */

import { bound } from "./bound.js";
import { COLUMNS } from "./compare-columns.js";
import { groupEqual, showAll } from "./compare-groups.js";
import { rowOf, show } from "./compare-rows.js";
import { finishedRuns, groupOf, rowsOf } from "./compare-table-state.js";
import { createButton, el } from "./dom.js";

/** @import { CompareTable } from "./compare-table-state" */

/** @param {CompareTable} shown */
function sort(shown, key) {
  if (key === null) shown.sortedBy = null;
  else if (shown.sortedBy === key) shown.descends = !shown.descends;
  else {
    shown.sortedBy = key;
    shown.descends = Boolean(COLUMNS[key].more);
  }
  for (const head of shown.table.querySelectorAll("thead th")) head.removeAttribute("aria-sort");
  const { sortedBy, descends, table } = shown;
  if (sortedBy)
    table.querySelector(`thead [data-of=${sortedBy}]`).setAttribute("aria-sort", descends ? "descending" : "ascending");
  arrange(shown);
}

/** Rows in their order; a method that has no such number comes last. @param {CompareTable} shown */
function arrange(shown) {
  if (!shown.comparison) return;
  const names = [...shown.comparison.methods];
  if (shown.sortedBy) {
    const value = Object.fromEntries(
      names.map((name) => {
        const runs = finishedRuns(shown, name);
        return [name, runs.length ? COLUMNS[shown.sortedBy].of(runs, shown.comparison.runs).value : null];
      }),
    );
    names.sort(
      (a, b) =>
        Number(value[a] === null) - Number(value[b] === null) ||
        (shown.descends ? value[b] - value[a] : value[a] - value[b]) ||
        0,
    );
  }
  const held = /** @type {HTMLElement} */ (document.activeElement);
  const placed = new Set();
  for (const name of names) {
    const group = groupOf(shown, name);
    if (group && !placed.has(group)) {
      placed.add(group);
      shown.table.append(
        group.body,
        ...names.filter((each) => group.names.includes(each)).map((each) => rowsOf(shown, each).group),
      );
    }
    if (!group) shown.table.append(rowsOf(shown, name).group);
  }
  if (shown.table.contains(held)) held.focus();
}

/** All rows anew, for another comparison. @param {CompareTable} shown */
function begin(shown, comparison) {
  shown.comparison = comparison;
  shown.opened.clear();
  shown.rows.clear();
  shown.groups = [];
  for (const old of shown.table.querySelectorAll("tbody")) old.remove();
  for (const name of shown.comparison.methods) shown.rows.set(name, rowOf(shown, name));
  arrange(shown);
}

/** @param {CompareTable} shown */
function headOf(shown) {
  const button = (text, key) => createButton(text, { class: "bare" }, () => sort(shown, key));
  const heads = Object.entries(COLUMNS).map(([key, { head, title }]) =>
    el("th", { scope: "col", "data-of": key, title }, button(head, key)),
  );
  return el("thead", el("tr", el("th.way", { scope: "col" }, button("Method", null)), ...heads));
}

/** @param {HTMLElement} table @param {CompareTable["doors"]} doors */
export function createCompareTable(table, doors) {
  /** @type {Partial<CompareTable>} */
  const parts = { table, doors, sortedBy: null, descends: false, opened: new Set(), rows: new Map(), groups: [] };
  const shown = /** @type {CompareTable} */ (parts);
  table.append(headOf(shown));
  return bound(shown, { begin, show, showAll, group: groupEqual, arrange });
}
