/* The chart over the strip: one bar a token, of one kind at a time; it shares the strip's selection.
   Drawn on a canvas: a thousand tokens as elements cost a layout each time one is added. */

import { el } from "./dom.js";
import { shades } from "./measures.js";
import { on, state } from "./state.js";
import { formatBits, formatNumber, formatPercent, glyphs } from "./tokens.js";

/** @import { Step } from "./wire" */

const HIGH = 84,
  LINE = 56; // pixels: the whole, and where the line lies of kinds that also go down
const WIDEST = 61,
  GAP = 3,
  NARROWEST = 4;
const log10 = (value) => Math.log10(Math.max(1, value));
const share = (value, most) => Math.max(0, Math.min(1, value / most));
const depth = (step) => step.stack?.length ?? 0;
const round = (most) => {
  const ten = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= most);
};
const time = (step) => shades.total(step);

/* A kind of chart: its name, the parts of a bar as [share of the height, colour, below], the text for a step, the
   labels. */
/** @type {Record<string, { name: string, say: (step: Step) => string, signs: (most?: number) => string[],
      both?: boolean,
      parts: (step: Step, most?: number) => [share: number, colour: string, below?: boolean, tick?: boolean][],
      [more: string]: any }>} */
const KINDS = {
  bits: {
    name: "bits",
    say: (s) => `surprisal ${formatBits(s.s)} bits · removed by the mask ${formatBits(s.m)} bits`,
    signs: () => ["surprisal", "mask"],
    both: true,
    parts: (s) => [
      [share(s.s ?? 8, 8), "--bar"],
      [share(s.m ?? 4, 4), "--mask", true],
    ],
  },
  kept: {
    name: "kept",
    say: (s) => `the mask kept ${formatPercent(s.kept)}`,
    signs: () => ["100 %", "kept"],
    parts: (s) => [[share(s.kept, 1), "--bar"]],
  },
  rank: {
    name: "rank",
    say: (s) =>
      (s.rank ? `rank ${formatNumber(s.rank)} of all` : "rank unknown") +
      (s.rankm ? ` · ${formatNumber(s.rankm)} of the allowed` : ""),
    signs: () => ["10,000", "rank 1"],
    parts: (s) => [
      [share(log10(s.rank ?? 1e4) + 0.05, 4.05), "--bar"],
      [share(log10(s.rankm ?? 1) + 0.05, 4.05), "--forced", false, true],
    ],
  },
  time: {
    name: "time",
    say: (s) =>
      s.ms
        ? `${shades.milliseconds(time(s))}: model ${s.ms.model.toFixed(1)}, mask ` +
          `${s.ms.mask.toFixed(2)}, advance ${(s.ms.advance ?? 0).toFixed(2)}`
        : "time unknown",
    most: (steps) => round(Math.max(1, ...steps.map(time))),
    signs: (most) => [`${most} ms`, "time"],
    parts: (s, most) => [
      [share(time(s), most), "--bar"],
      [share((s.ms?.mask ?? 0) + (s.ms?.advance ?? 0), most), "--mask"],
    ],
  },
  stack: {
    name: "stack",
    say: (s) => `depth ${depth(s)}${depth(s) ? `: ${s.stack.slice(-6).join(" ▸ ")}` : ""}`,
    most: (steps) => Math.max(4, ...steps.map(depth)),
    signs: (most) => [`depth ${most}`, "stack"],
    parts: (s, most) => [[share(depth(s), most), "--bar"]],
  },
  needed: {
    name: "tokens needed",
    say: (s) =>
      s.budget
        ? `${formatNumber(s.budget.left)} tokens left · the shortest end needs ${formatNumber(s.budget.needs)}`
        : "the text need not end in its budget: switch on “must finish”",
    most: (steps) => Math.max(4, ...steps.map((s) => s.budget?.left ?? 0)),
    signs: (most = 0) => [`${formatNumber(most)} left`, "needed"],
    parts: (s, most) => [
      [share(s.budget?.left ?? 0, most), "--wash"],
      [share(s.budget?.needs ?? 0, most), "--bar"],
    ],
  },
  allowed: {
    name: "allowed",
    say: (s) => `${formatNumber(s.allowed)} tokens allowed`,
    signs: () => ["100,000", "allowed"],
    parts: (s) => [[share(log10(s.allowed) + 0.05, 5.05), "--forced"]],
  },
};

/** A chart in an empty box. `doors.select(index)` is called when a bar is chosen. */
export function createChart(box, doors) {
  const axis = el("div", { class: "axis", "aria-hidden": "true" }, el("span"), el("span"));
  const canvas = el("canvas", { height: HIGH }),
    tip = el("div", { class: "tip", hidden: true });
  const frame = el(
    "div",
    { class: "chart", role: "slider", tabindex: "0", "aria-valuemin": "1", "aria-valuemax": "1" },
    canvas,
  );
  box.replaceChildren(axis, frame, tip);
  let steps = [],
    kind = KINDS.bits,
    selected = -1,
    over = -1,
    pitch = WIDEST,
    asked = false,
    widths = [0, 0],
    drawn = /** @type {{ steps: any[], looks: string, count: number } | null} */ (null),
    colours = /** @type {Map<string, string> | null} */ (null);

  /** Bars have one width until a power of two of them is there, so that a new token is one more bar. */
  function layout() {
    const places = state.running ? 2 ** Math.ceil(Math.log2(Math.max(16, steps.length))) : Math.max(1, steps.length);
    pitch = Math.max(NARROWEST, Math.min(WIDEST, frame.clientWidth / places));
    const width = Math.max(frame.clientWidth, Math.ceil(pitch * places)),
      dense = window.devicePixelRatio || 1;
    if (widths[0] === width && widths[1] === dense) return;
    canvas.width = Math.round(width * dense);
    canvas.height = HIGH * dense;
    canvas.style.width = `${width}px`;
    widths = [width, dense];
    drawn = null;
  }
  const inks = () => {
    const sheet = getComputedStyle(box);
    return new Map(
      ["--bar", "--mask", "--forced", "--line", "--wash", "--now-wash", "--now"].map((name) => [
        name,
        sheet.getPropertyValue(name).trim(),
      ]),
    );
  };

  /** Draw all bars, or only the new ones where nothing else has changed. */
  function draw() {
    asked = false;
    if (!box.isConnected || !frame.clientWidth) return;
    layout();
    const most = kind.most ? kind.most(steps) : 1,
      floor = kind.both ? LINE : HIGH - 1,
      gap = pitch > 12 ? GAP : 1,
      pen = canvas.getContext("2d");
    const looks = [kind.name, most, pitch, selected, over].join(" ");
    const added = drawn?.steps === steps && drawn.looks === looks && drawn.count <= steps.length;
    const from = drawn && added ? drawn.count : 0;
    drawn = { steps, looks, count: steps.length };
    if (!colours?.get("--bar")) colours = inks(); // empty before the sheet has loaded
    pen.setTransform(widths[1], 0, 0, widths[1], 0, 0);
    if (!added) pen.clearRect(0, 0, widths[0], HIGH);
    const signs = kind.signs(most);
    if (axis.firstChild.textContent !== signs[0]) {
      axis.firstChild.textContent = signs[0];
      axis.lastChild.textContent = signs[1];
    }
    // rounded corners cost a path each, and are invisible on narrow bars
    const bar = (x, y, wide, high, corners) => {
      if (pitch < 12) {
        pen.fillRect(x, y, wide, high);
        return;
      }
      pen.beginPath();
      pen.roundRect(x, y, wide, high, corners);
      pen.fill();
    };
    for (let index = from; index < steps.length; index++) {
      const x = index * pitch,
        wide = Math.max(1, pitch - gap);
      if (index === selected || index === over) {
        pen.fillStyle = colours.get(index === selected ? "--now-wash" : "--wash");
        bar(x, 0, wide, HIGH, 3);
        if (index === selected) {
          pen.fillStyle = colours.get("--now");
          pen.fillRect(x, HIGH - 2, wide, 2);
        }
      }
      for (const [part, name, below, tick] of kind.parts(steps[index], most)) {
        const high = Math.max(below ? 0 : 1, part * (below ? HIGH - LINE - 2 : floor - 2));
        pen.fillStyle = colours.get(name);
        if (tick) pen.fillRect(x, floor - high, wide, 2);
        else if (below) {
          if (part) bar(x, floor + 1, wide, high, [0, 0, 2, 2]);
        } else bar(x, floor - high, wide, high, [2, 2, 0, 0]);
      }
    }
    pen.fillStyle = colours.get("--line");
    pen.fillRect(0, floor, widths[0], 1);
  }
  const soon = () => {
    if (!asked) {
      asked = true;
      requestAnimationFrame(draw);
    }
  };

  /** Show these steps; called again when there are more of them. */
  function show(shown) {
    steps = shown;
    frame.setAttribute("aria-valuemax", String(Math.max(1, steps.length)));
    if (selected >= steps.length) selected = -1;
    soon();
  }

  function mark(index) {
    selected = index;
    const step = steps[index];
    frame.setAttribute("aria-valuenow", String(Math.max(1, index + 1)));
    frame.setAttribute(
      "aria-valuetext",
      step ? `token ${index + 1}, ${glyphs(step.token)}: ${kind.say(step)}` : "no token selected",
    );
    if (step && frame.scrollWidth > frame.clientWidth) {
      const x = index * pitch;
      if (x < frame.scrollLeft || x + pitch > frame.scrollLeft + frame.clientWidth)
        frame.scrollLeft = x - frame.clientWidth / 2;
    }
    soon();
  }

  function by(key) {
    kind = KINDS[key] || KINDS.bits;
    box.classList.toggle("both", Boolean(kind.both));
    frame.setAttribute("aria-label", `Chart of ${kind.name} by token`);
    mark(selected);
  }

  const under = (event) => Math.floor((event.clientX - frame.getBoundingClientRect().left + frame.scrollLeft) / pitch);
  function hover(index) {
    const step = steps[index];
    if (over !== index) {
      over = step ? index : -1;
      soon();
    }
    tip.hidden = !step;
    if (!step) return;
    tip.replaceChildren(el("b", {}, String(index + 1)), el("code", {}, glyphs(step.token)), kind.say(step));
    // beside the bar: to its right where there is room
    const left = frame.offsetLeft + index * pitch - frame.scrollLeft,
      right = left + Math.max(pitch, 8) + 4;
    const fits = right + tip.offsetWidth < box.clientWidth - 8;
    tip.style.left = `${Math.max(0, fits ? right : left - tip.offsetWidth - 4)}px`;
  }
  frame.addEventListener("pointermove", (event) => hover(under(event)));
  frame.addEventListener("pointerleave", () => hover(-1));
  frame.addEventListener("click", (event) => {
    const index = under(event);
    if (steps[index]) doors.select(index);
  });
  frame.addEventListener("keydown", (event) => {
    const here = Math.max(selected, 0),
      last = steps.length - 1;
    const next = {
      ArrowRight: Math.min(last, selected < 0 ? 0 : here + 1),
      ArrowLeft: Math.max(0, here - 1),
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined || last < 0) {
      doors.key?.(event, here);
      return;
    }
    event.preventDefault();
    doors.select(next);
  });
  new ResizeObserver(soon).observe(frame);
  on("theme", () => {
    colours = drawn = null;
    soon();
  });
  by("bits");
  return { show, mark, by };
}

export const chartKinds = Object.entries(KINDS).map(([key, kind]) => [key, kind.name]);
