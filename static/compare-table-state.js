/* The state of the table of a comparison, and the runs of its methods. */

/** @import { CompareRun, Comparison } from "./compare-view.js" */

/** A strip of tokens with its button, and the rows of a method, of one of its runs, and of methods that wrote the same.
    @typedef {{ box: HTMLElement, open: HTMLButtonElement, row: HTMLElement }} StripLine
    @typedef {{ run: CompareRun, cells: HTMLElement[], line: StripLine, numbers: HTMLElement,
    state: HTMLElement }} RunRow
    @typedef {{ fold: HTMLButtonElement, state: HTMLElement, cells: HTMLElement[], why: HTMLElement, line: StripLine,
      numbers: HTMLElement, group: HTMLElement, runs: RunRow[] }} MethodRow
    @typedef {{ names: string[], lead: string, cells: HTMLElement[], line: StripLine, body: HTMLElement }} Group */

/** ``comparison`` is there from ``begin`` on; ``opened``: the methods whose runs are shown.
    @typedef {{
      sortedBy: string | null, descends: boolean, comparison: Comparison, opened: Set<string>,
      rows: Map<string, MethodRow>, groups: Group[], table: HTMLElement,
      doors: { open(run: CompareRun | undefined): void,
        about(name: string): { title: string, detail: string } | undefined },
    }} CompareTable */

/** @param {CompareTable} shown */
export const runsOf = (shown, name) => shown.comparison.runs.filter((run) => run.method === name);

/** @param {CompareTable} shown */
export const finishedRuns = (shown, name) => runsOf(shown, name).filter((run) => run.end);

/** @param {CompareTable} shown */
export const shownRun = (shown, name) =>
  runsOf(shown, name).find(
    (run) => run.prompt === shown.comparison.shown.prompt && run.seed === shown.comparison.shown.seed,
  );

/** @param {CompareTable} shown */
export const runBeside = (shown, run, name) =>
  runsOf(shown, name).find((each) => each.prompt === run.prompt && each.seed === run.seed);

/** @param {CompareTable} shown */
export const groupOf = (shown, name) => shown.groups.find((group) => group.names.includes(name));

/** The rows of a method. @param {CompareTable} shown @param {string} name */
export function rowsOf(shown, name) {
  const rows = shown.rows.get(name);
  if (!rows) throw new Error(`the comparison has no method ${name}`);
  return rows;
}
