/* The state of the card of a results file: the file, which of its rows are shown, and the elements that show them. */

import { formatNumber, glyphs } from "./tokens.js";

/** @import { createLatest } from "./ask.js" */
/** @import { Answer, OpenedResults, Server } from "./wire" */

/** ``files`` is null for the file the page is served with.
    @typedef {{ wanted: string, sort: string, down: boolean, offset: number, every: boolean }} ResultsView
    @typedef {{ total: HTMLElement, body: HTMLElement, head: HTMLElement, wrong: HTMLElement, plot: HTMLElement,
      filter: HTMLInputElement, csv: HTMLButtonElement, pager: HTMLButtonElement[], count: number,
      column?: HTMLSelectElement, plotted?: { column: string, wanted: string } | null }} ResultsParts
    @typedef {{ server: Server, open(grammar: object): void, run(run: object): Promise<string | undefined>
      }} ResultsDoors
    @typedef {{
      server: Server, doors: ResultsDoors, card: HTMLElement, parts: ResultsParts,
      files: File[] | null, about: Answer<OpenedResults>, view: ResultsView,
      opening: ReturnType<typeof createLatest>, loading: ReturnType<typeof createLatest>,
      plotting: ReturnType<typeof createLatest>, saving: ReturnType<typeof createLatest>,
    }} ResultsCard */

/** Columns that are shown first, in this order. */
const USUAL = (
  "row name id subset model contender engine version experiment seed ended valid proper " +
  "compiled passing tokens perplexity interventions forward_passes over under by_policy " +
  "masks ms task_seconds text reason error"
).split(" ");

/** A cell as it is shown: white space is made visible in what a model read or wrote. */
export function shown(value, name) {
  if (value === null) return "–";
  if (typeof value === "number") return figure(value);
  return name === "text" || name === "prompt" ? glyphs({ text: value }) : String(value);
}

/** A number with at most four figures, as the command prints it. */
export function figure(value) {
  if (Number.isInteger(value)) return formatNumber(value);
  return Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
}

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** @param {ResultsCard} results */
export function showStatus(results, words, wrong = false) {
  const box = results.card.querySelector("[role=status]");
  box.textContent = words;
  box.classList.toggle("no", wrong);
}

/** @param {ResultsCard} results */
export const showFailure = (results, words) => showStatus(results, words, true);

/** The columns that are shown, with their places. @param {ResultsCard} results */
export function columns(results) {
  const all = results.about.columns.map((column, at) => ({ ...column, at }));
  if (results.view.every) return all;
  const known = all.filter((one) => one.kind); // the others have no values
  const usual = USUAL.flatMap((name) => known.find((one) => one.name === name) ?? []);
  const some = usual.length > 2 ? usual : known.slice(0, 12);
  return [...(results.about.failed ? all.filter((one) => one.name === "status") : []), ...some];
}
