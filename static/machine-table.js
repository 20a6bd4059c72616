/* A machine as a table, for machines too large to draw and for screen readers: which machine, a filter, and the rows of
   the current states of the run. */

import { createTable, el, markChosen, radios, targetOf } from "./dom.js";
import { passedBy } from "./graph.js";
import { state } from "./state.js";
import { formatNumber } from "./tokens.js";

/** @import { Picture } from "./wire" */

/** @typedef {{
      filter: HTMLInputElement, status: HTMLElement, scroll: HTMLElement, answer: Picture | null, standing: string[][],
    }} RowsBox */

const NAMES = { characters: "Characters", tokens: "Tokens", stack: "Stack machine", rules: "Rules" };

/** @param {RowsBox} rowsBox */
function fillRows(rowsBox) {
  const wanted = rowsBox.filter.value.trim().toLowerCase();
  const rows = (rowsBox.answer?.rows ?? []).filter(
    (row) => !wanted || row.slice(2).some((cell) => cell.toLowerCase().includes(wanted)),
  );
  const body = rows.map((row) =>
    el("tr", { "data-state": row[0], "data-target": row[1] }, ...row.slice(2).map((cell) => el("td", cell))),
  );
  rowsBox.scroll.replaceChildren(createTable(rowsBox.answer?.heads ?? [], body));
  if (!rows.length) rowsBox.scroll.append(el("p.none", "no row contains that"));
  rowsBox.status.textContent =
    (wanted ? `${formatNumber(rows.length)} of ${formatNumber((rowsBox.answer?.rows ?? []).length)} rows · ` : "") +
    (rowsBox.answer?.count ?? "");
  markRows(rowsBox, false);
}

/** @param {RowsBox} rowsBox */
function markRows(rowsBox, scrolls) {
  for (const row of rowsBox.scroll.querySelectorAll("tr.now, tr.taken")) row.classList.remove("now", "taken");
  const [here, path] = rowsBox.standing;
  if (!here?.length) return;
  const pairs = new Set(path.slice(1).map((moment, i) => `${path[i][0]}>${moment[0]}`));
  /** @type {HTMLElement | undefined} */
  let first;
  for (const row of rowsBox.scroll.querySelectorAll("tbody tr")) {
    const taken = pairs.has(`${row.dataset.state}>${row.dataset.target}`);
    const now = here.includes(row.dataset.state ?? "");
    row.classList.toggle("now", now);
    row.classList.toggle("taken", taken);
    if (taken || (now && !first)) first = first?.classList.contains("taken") ? first : /** @type {HTMLElement} */ (row);
  }
  if (scrolls && first) {
    const head = rowsBox.scroll.querySelector("thead")?.offsetHeight || 0;
    const top = first.offsetTop - head,
      bottom = first.offsetTop + first.offsetHeight;
    if (top < rowsBox.scroll.scrollTop || bottom > rowsBox.scroll.scrollTop + rowsBox.scroll.clientHeight)
      rowsBox.scroll.scrollTop = Math.max(0, top - rowsBox.scroll.clientHeight / 3);
  }
}

/** ``choose`` gets the machine that is chosen, ``place`` the state of a row that is clicked. */
export function createRows(box, { choose, place }) {
  const which = el("div.seg.which", { role: "radiogroup", "aria-label": "Machine in the table" });
  const filter = el("input.filter", {
    type: "search",
    placeholder: "Filter rows",
    "aria-label": "Filter rows of the table",
    spellcheck: "false",
  });
  const status = el("span.status", { role: "status" });
  const scroll = el("div.scroll", { tabindex: "0", role: "region", "aria-label": "The machine as a table" });
  box.append(el("div.tools", which, filter, status), scroll);
  /** @type {RowsBox} */
  const rowsBox = { filter, status, scroll, answer: null, standing: [] };
  radios(which, "data-of", Object.entries(NAMES), choose);
  filter.addEventListener("input", () => {
    if (rowsBox.answer) fillRows(rowsBox);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && filter.value) {
      event.stopPropagation();
      filter.value = "";
      fillRows(rowsBox);
    }
  });
  scroll.addEventListener("click", (event) => {
    const row = targetOf(event).closest("tr[data-state]");
    if (row) place(row.dataset.state);
  });
  return {
    show(next, of) {
      rowsBox.answer = next;
      for (const button of which.querySelectorAll("button")) {
        const why = state.compiled?.tabs?.[button.dataset.of ?? ""] || "";
        button.disabled = Boolean(why);
        button.title = why;
      }
      markChosen(which, "aria-checked", which.querySelector(`[data-of="${of}"]`));
      if (!next.ok) {
        scroll.replaceChildren(el("p.none", next.why));
        status.textContent = "";
        rowsBox.answer = null;
        return;
      }
      fillRows(rowsBox);
    },
    /** Mark the rows where the run stands, and those it takes. */
    go(step, atEnd) {
      if (!rowsBox.answer) return null;
      const { standing: here, path } = passedBy(rowsBox.answer, step, atEnd);
      rowsBox.standing = [here, path];
      markRows(rowsBox, true);
      return here[0];
    },
    holds: (id) => Boolean(rowsBox.answer?.rows?.some((row) => row[0] === id)),
  };
}
