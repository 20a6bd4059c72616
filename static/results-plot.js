/* A box plot of a column of a results file. */

import { el, svgEl } from "./dom.js";
import { askAbout } from "./results-file.js";
import { figure, shortened } from "./results-state.js";
import { several } from "./tokens.js";

/** @import { ResultsCard } from "./results-state" */
/** @import { ResultsBox } from "./wire" */

const WIDE = 720;
const LEFT = 190;
const RIGHT = 16;
const TOP = 8;
const LINE = 26;

/** A box plot: a line for each group. @param {ResultsBox[]} groups @param {string} column */
function boxes(groups, column) {
  const low = Math.min(...groups.map((one) => one.low)),
    most = Math.max(...groups.map((one) => one.high)),
    high = most > low ? most : low + Math.max(1, Math.abs(low));
  const across = (x) => LEFT + ((x - low) / (high - low)) * (WIDE - LEFT - RIGHT);
  const bottom = TOP + LINE * groups.length;
  const say = (one) =>
    `${one.name}: median ${figure(one.median)}, half from ${figure(one.first)} to ${figure(one.third)}`;
  const chart = svgEl("svg", {
    viewBox: `0 0 ${WIDE} ${bottom + 40}`,
    role: "img",
    "aria-label": `${column}. ${groups.map(say).join(". ")}`,
  });
  for (const x of ticks(low, high))
    chart.append(
      svgEl("line", { x1: across(x), x2: across(x), y1: TOP, y2: bottom, class: "grid" }),
      svgEl("text", { x: across(x), y: bottom + 16, "text-anchor": "middle" }, figure(x)),
    );
  chart.append(svgEl("text", { x: (LEFT + WIDE - RIGHT) / 2, y: bottom + 34, "text-anchor": "middle" }, column));
  groups.forEach((one, i) => {
    const middle = TOP + LINE * (i + 0.5),
      line = (from, to) =>
        svgEl("line", { x1: across(from), x2: across(to), y1: middle, y2: middle, class: "whisker" });
    const named = svgEl("text", { x: LEFT - 10, y: middle + 4, "text-anchor": "end", class: "name" });
    named.append(
      shortened(one.name, 26),
      svgEl("title", {}, `${say(one)}; ${several(one.count, "row")}, ${one.outside} beyond the whiskers`),
    );
    const middleAt = {
      x1: across(one.median),
      x2: across(one.median),
      y1: middle - 8,
      y2: middle + 8,
      class: "median",
    };
    const wide = Math.max(1, across(one.third) - across(one.first));
    chart.append(
      named,
      line(one.low, one.first),
      line(one.third, one.high),
      svgEl("rect", { x: across(one.first), y: middle - 8, width: wide, height: 16, class: "box" }),
      svgEl("line", middleAt),
    );
  });
  return chart;
}

/** Round numbers between two values, about five. */
function ticks(low, high) {
  const ten = 10 ** Math.floor(Math.log10((high - low) / 4));
  const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => (high - low) / n <= 5) ?? ten;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(+at.toPrecision(12));
  return found;
}

/** @param {ResultsCard} results */
export function plotPart(results) {
  const numbers = results.about.columns.filter((one) => one.kind === "number").map((one) => one.name);
  if (!numbers.length) return [];
  const first = ["perplexity", "ms", "engine_seconds", "tokens"].find((name) => numbers.includes(name)) ?? numbers[0];
  const pick = el(
    "select",
    { onchange: () => plot(results) },
    ...numbers.map((name) => el("option", { value: name, selected: name === first }, name)),
  );
  results.parts.column = pick;
  return [
    el(
      "div.plots",
      el(
        "div.knobs",
        el("label.knob", el("span", "plot of"), el("span.pickwrap", pick)),
        el("span.quiet", "quartiles; whiskers to the last value within 1.5 times their distance"),
      ),
      results.parts.plot,
    ),
  ];
}

/** @param {ResultsCard} results */
export function plot(results) {
  if (!results.parts.column) return;
  const asked = { column: results.parts.column.value, wanted: results.view.wanted };
  results.parts.plotted = asked;
  results.plotting.run(async (ask) =>
    showPlot(results, await askAbout(results, ask, results.server.results_plot, asked), asked),
  );
}

/** @param {ResultsCard} results */
function showPlot(results, answer, asked) {
  if (!answer.ok) results.parts.plotted = null;
  results.parts.plot.replaceChildren(
    ...(answer.ok && answer.groups.length
      ? [boxes(answer.groups, asked.column), answer.left ? el("p.quiet", `and ${answer.left} groups`) : ""]
      : [el("p.quiet", answer.ok ? "No such row has this number." : answer.why)]),
  );
}
