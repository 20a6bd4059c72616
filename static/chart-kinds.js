/* The kinds of the chart over the strip: what a bar shows, in words too, and the scale beside it. */

import { shades } from "./measures.js";
import { formatBits, formatNumber, formatPercent } from "./tokens.js";

/** @import { Step } from "./wire" */

/** A mark of a scale: its share of the height, its label, and whether it is below the line.
    @typedef {[share: number, label: string, below?: boolean]} Mark */

const BITS = 8,
  MASK_BITS = 4; // where the scales end: a longer bar has a gap
const SMALLEST = 0.05; // what a bar of rank 1 has of a power of ten

const log10 = (value) => Math.log10(Math.max(1, value));
const share = (value, most) => Math.max(0, Math.min(1, value / most));
const depth = (step) => step.stack?.length ?? 0;
const time = (step) => shades.total(step);
/** The next of 1, 2, 5, 10, 20, … */
const round = (most) => {
  const ten = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= most) ?? most;
};
const even = (most) => 2 * Math.ceil(most / 2);
const highest = (steps, value, least) => Math.max(least, ...steps.map(value));

/** A scale from 0 with its middle.
    @param {number} most @param {string} [unit] @returns {Mark[]} */
const linear = (most, unit = "") => [
  [1, `${formatNumber(most)}${unit}`],
  [0.5, most < 10 ? String(most / 2) : formatNumber(most / 2)],
  [0, "0"],
];
const power = (exponent, most) => share(exponent + SMALLEST, most + SMALLEST);
/** A scale of powers of ten from 1. @param {number} most the largest exponent @returns {Mark[]} */
const powers = (most) =>
  [most, Math.floor(most / 2), 0].map((exponent) => [power(exponent, most), formatNumber(10 ** exponent)]);

/* A kind of chart: its name, the parts of a bar as [share of the height, colour, below], the text for a step, the
   end of its scale for all steps, the marks of the scale, what its parts are called; `cut` tells whether the bars
   of a step over and under the line are longer than the scale, `missing` what to do where no step has a value. */
/** @type {Record<string, { name: string, say: (step: Step) => string, marks: (most: number) => Mark[],
      both?: boolean, names: [name: string, colour: string][],
      most?: (steps: Step[]) => number, cut?: (step: Step) => [above: boolean, below: boolean],
      missing?: (steps: Step[]) => string,
      parts: (step: Step, most: number) => [share: number, colour: string, below?: boolean, tick?: boolean][] }>} */
export const KINDS = {
  bits: {
    name: "bits",
    say: (s) => `surprisal ${formatBits(s.s)} bits · removed by the mask ${formatBits(s.m)} bits`,
    names: [
      ["surprisal", "--accent"],
      ["mask", "--mask"],
    ],
    marks: () => [...linear(BITS, " bits"), [1, String(MASK_BITS), true]],
    both: true,
    cut: (s) => [(s.s ?? Infinity) > BITS, (s.m ?? Infinity) > MASK_BITS],
    parts: (s) => [
      [share(s.s ?? BITS, BITS), "--bar"],
      [share(s.m ?? MASK_BITS, MASK_BITS), "--mask", true],
    ],
  },
  kept: {
    name: "kept",
    say: (s) => `the mask kept ${formatPercent(s.kept)}`,
    names: [["kept", "--quiet"]],
    marks: () => linear(100, " %"),
    parts: (s) => [[share(s.kept, 1), "--bar"]],
  },
  rank: {
    name: "rank",
    say: (s) =>
      (s.rank ? `rank ${formatNumber(s.rank)} of all` : "rank unknown") +
      (s.rankm ? ` · ${formatNumber(s.rankm)} of the allowed` : ""),
    names: [["rank", "--quiet"]],
    most: (steps) => Math.ceil(log10(highest(steps, (s) => s.rank ?? 0, 1e4))),
    marks: powers,
    parts: (s, most) => [
      [power(s.rank ? log10(s.rank) : most, most), "--bar"],
      [power(log10(s.rankm ?? 1), most), "--forced", false, true],
    ],
  },
  time: {
    name: "time",
    say: (s) =>
      s.ms
        ? `${shades.milliseconds(time(s))}: model ${s.ms.model.toFixed(1)}, mask ` +
          `${s.ms.mask.toFixed(2)}, advance ${(s.ms.advance ?? 0).toFixed(2)}`
        : "time unknown",
    names: [
      ["model", "--accent"],
      ["mask", "--mask"],
    ],
    most: (steps) => round(highest(steps, time, 1)),
    marks: (most) => linear(most, " ms"),
    parts: (s, most) => [
      [share(time(s), most), "--bar"],
      [share((s.ms?.mask ?? 0) + (s.ms?.advance ?? 0), most), "--mask"],
    ],
  },
  stack: {
    name: "stack",
    say: (s) => `depth ${depth(s)}${depth(s) ? `: ${s.stack.slice(-6).join(" ▸ ")}` : ""}`,
    names: [["depth", "--quiet"]],
    most: (steps) => even(highest(steps, depth, 4)),
    marks: (most) => linear(most),
    parts: (s, most) => [[share(depth(s), most), "--bar"]],
  },
  needed: {
    name: "tokens needed",
    say: (s) =>
      s.budget
        ? `${formatNumber(s.budget.left)} tokens left · the shortest end needs ${formatNumber(s.budget.needs)}`
        : "the text need not end in its budget: switch on “must finish”",
    names: [
      ["left", "--quiet"],
      ["needed", "--accent"],
    ],
    most: (steps) => even(highest(steps, (s) => s.budget?.left ?? 0, 4)),
    marks: (most) => linear(most),
    missing: (steps) =>
      steps.some((s) => s.budget) ? "" : "Switch on “must finish” in Options and run again to see how many are needed.",
    parts: (s, most) => [
      [share(s.budget?.left ?? 0, most), "--wash"],
      [share(s.budget?.needs ?? 0, most), "--bar"],
    ],
  },
  allowed: {
    name: "allowed",
    say: (s) => `${formatNumber(s.allowed)} tokens allowed`,
    names: [["allowed", "--quiet"]],
    most: (steps) => Math.ceil(log10(highest(steps, (s) => s.allowed, 1e4))),
    marks: powers,
    parts: (s, most) => [[power(log10(s.allowed), most), "--forced"]],
  },
};
