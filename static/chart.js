/* The chart over the strip: one bar a token, of one kind at a time; it shares the strip's selection.
   Drawn on a canvas: a thousand tokens as elements cost a layout each time one is added. */

import { bound } from "./bound.js";
import { KINDS } from "./chart-kinds.js";
import { el, steppedIndex } from "./dom.js";
import { on, state } from "./state.js";
import { glyphs } from "./tokens.js";

/** @import { Step } from "./wire" */

const HIGH = 84,
  LINE = 56; // pixels: the whole, and where the line lies of kinds that also go down
const WIDEST = 61,
  GAP = 3,
  NARROWEST = 4,
  PLAIN = 12; // pixels of a bar with its gap: narrower ones have no corners and the least gap
const EDGE = 2, // pixels free over and under the bars
  BREAK = 8; // pixels from the end of a bar that is longer than the scale: there it has a gap
const COLOURS = ["--bar", "--mask", "--forced", "--line", "--wash", "--now-wash", "--now"];

/** ``pitch``: pixels from bar to bar; ``widths``: pixels of the canvas, and how many device pixels each has; ``drawn``:
    the bars that are on the canvas; ``scale``: the scale that the axis shows.
    @typedef {{
      box: HTMLElement, axis: HTMLElement, canvas: HTMLCanvasElement, frame: HTMLElement, tip: HTMLElement,
      missing: HTMLElement, steps: Step[], kind: typeof KINDS[string], selected: number, hovered: number, pitch: number,
      isAwaited: boolean, scale: string, widths: [number, number],
      drawn: { steps: Step[], looks: string, count: number } | null, colours: Map<string, string>,
    }} Chart */

/** The pixels above which a share of the scale ends.
    @param {number} part @param {boolean} [both] @param {boolean} [below] */
const heightOf = (part, both, below) =>
  below ? LINE + 1 + part * (HIGH - LINE - EDGE) : (both ? LINE : HIGH - 1) * (1 - part) + EDGE * part;

/** Bars have one width until a power of two of them is there, so that a new token is one more bar.
    @param {Chart} chart */
function layOut(chart) {
  const { steps, frame, canvas } = chart;
  const places = state.running ? 2 ** Math.ceil(Math.log2(Math.max(16, steps.length))) : Math.max(1, steps.length);
  chart.pitch = Math.max(NARROWEST, Math.min(WIDEST, frame.clientWidth / places));
  const width = Math.max(frame.clientWidth, Math.ceil(chart.pitch * places)),
    dense = window.devicePixelRatio || 1;
  if (chart.widths[0] === width && chart.widths[1] === dense) return;
  canvas.width = Math.round(width * dense);
  canvas.height = HIGH * dense;
  canvas.style.width = `${width}px`;
  chart.widths = [width, dense];
  chart.drawn = null;
}

/** @param {Chart} chart */
function readColours(chart) {
  const sheet = getComputedStyle(chart.box);
  chart.colours = new Map(COLOURS.map((name) => [name, sheet.getPropertyValue(name).trim()]));
}

/** The marks of the scale, and the names of its parts. @param {Chart} chart @param {number} most */
function drawScale(chart, most) {
  const { axis, kind } = chart,
    shown = `${kind.name} ${most}`;
  if (chart.scale === shown) return;
  chart.scale = shown;
  const ticks = kind.marks(most).map(([part, label, below]) => {
    const style = `top:${heightOf(part, kind.both, below)}px`;
    return el("span.tick", { style }, label);
  });
  const names = kind.names.map(([name, colour], index) => {
    const style = `color:var(${colour});top:${index * (kind.both ? LINE : 15)}px`;
    return el("span.part", { style }, name);
  });
  axis.replaceChildren(...ticks, ...names);
}

/** A thin line at each mark of the scale that is between its ends.
    @param {Chart} chart @param {CanvasRenderingContext2D} pen @param {number} most */
function drawMarks({ kind, colours, widths }, pen, most) {
  pen.fillStyle = colours.get("--line") ?? "";
  for (const [part, , below] of kind.marks(most))
    if (part) pen.fillRect(0, Math.round(heightOf(part, kind.both, below)), widths[0], 1);
}

/** Rounded corners cost a path each, and are invisible on narrow bars.
    @param {Chart} chart @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} wide
    @param {number} high @param {number | number[]} corners */
function fillBar({ pitch }, pen, x, y, wide, high, corners) {
  if (pitch < PLAIN) {
    pen.fillRect(x, y, wide, high);
    return;
  }
  pen.beginPath();
  pen.roundRect(x, y, wide, high, corners);
  pen.fill();
}

/** The background of the selected bar, and of the one under the pointer.
    @param {Chart} chart @param {CanvasRenderingContext2D} pen @param {number} index @param {number} x
    @param {number} wide */
function drawBackground(chart, pen, index, x, wide) {
  const { colours, selected, hovered } = chart;
  if (index !== selected && index !== hovered) return;
  pen.fillStyle = colours.get(index === selected ? "--now-wash" : "--wash") ?? "";
  fillBar(chart, pen, x, 0, wide, HIGH, 3);
  if (index !== selected) return;
  pen.fillStyle = colours.get("--now") ?? "";
  pen.fillRect(x, HIGH - 2, wide, 2);
}

/** @param {Chart} chart @param {CanvasRenderingContext2D} pen @param {number} index @param {number} most
    @param {number} floor where the line is */
function drawBar(chart, pen, index, most, floor) {
  const { kind, pitch, colours } = chart,
    step = chart.steps[index];
  const x = index * pitch,
    wide = Math.max(1, pitch - (pitch > PLAIN ? GAP : 1));
  drawBackground(chart, pen, index, x, wide);
  for (const [part, name, below, tick] of kind.parts(step, most)) {
    const high = Math.max(below ? 0 : 1, part * (below ? HIGH - LINE - EDGE : floor - EDGE));
    pen.fillStyle = colours.get(name) ?? "";
    if (tick) pen.fillRect(x, floor - high, wide, 2);
    else if (!below) fillBar(chart, pen, x, floor - high, wide, high, [2, 2, 0, 0]);
    else if (part) fillBar(chart, pen, x, floor + 1, wide, high, [0, 0, 2, 2]);
  }
  const [above, below] = kind.cut?.(step) ?? [];
  if (above) pen.clearRect(x, EDGE + BREAK, wide, 3);
  if (below) pen.clearRect(x, HIGH - EDGE - BREAK, wide, 3);
}

/** Draw all bars, or only the new ones where nothing else has changed. @param {Chart} chart */
function draw(chart) {
  chart.isAwaited = false;
  const { box, frame, canvas, kind, steps, missing } = chart;
  if (!box.isConnected || !frame.clientWidth) return;
  layOut(chart);
  const most = kind.most ? kind.most(steps) : 1,
    floor = kind.both ? LINE : HIGH - 1,
    pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const looks = [kind.name, most, chart.pitch, chart.selected, chart.hovered].join(" "),
    { drawn, widths } = chart;
  const grown = drawn?.steps === steps && drawn.looks === looks && drawn.count <= steps.length ? drawn.count : -1;
  chart.drawn = { steps, looks, count: steps.length };
  if (!chart.colours.get("--bar")) readColours(chart); // empty before the sheet has loaded
  pen.setTransform(widths[1], 0, 0, widths[1], 0, 0);
  if (grown < 0) {
    pen.clearRect(0, 0, widths[0], HIGH);
    drawMarks(chart, pen, most);
  }
  drawScale(chart, most);
  missing.textContent = (steps.length && kind.missing?.(steps)) || "";
  missing.hidden = !missing.textContent;
  for (let index = Math.max(0, grown); index < steps.length; index++) drawBar(chart, pen, index, most, floor);
  pen.fillStyle = chart.colours.get("--line") ?? "";
  pen.fillRect(0, floor, widths[0], 1);
}

/** @param {Chart} chart */
function drawSoon(chart) {
  if (chart.isAwaited) return;
  chart.isAwaited = true;
  requestAnimationFrame(() => draw(chart));
}

/** Show these steps; called again when there are more of them. @param {Chart} chart @param {Step[]} steps */
function show(chart, steps) {
  chart.steps = steps;
  chart.frame.setAttribute("aria-valuemax", String(Math.max(1, steps.length)));
  if (chart.selected >= steps.length) chart.selected = -1;
  drawSoon(chart);
}

/** @param {Chart} chart @param {number} index */
function mark(chart, index) {
  const { frame, kind, pitch } = chart,
    step = chart.steps[index];
  chart.selected = index;
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
  drawSoon(chart);
}

/** Show another kind. @param {Chart} chart @param {string} key */
function by(chart, key) {
  chart.kind = KINDS[key] || KINDS.bits;
  chart.box.classList.toggle("both", Boolean(chart.kind.both));
  chart.frame.setAttribute("aria-label", `Chart of ${chart.kind.name} by token`);
  mark(chart, chart.selected);
}

/** The bar under the pointer, and its values beside it: to its right where there is room.
    @param {Chart} chart @param {number} index */
function hover(chart, index) {
  const { box, frame, tip, pitch, kind } = chart,
    step = chart.steps[index];
  if (chart.hovered !== index) {
    chart.hovered = step ? index : -1;
    drawSoon(chart);
  }
  tip.hidden = !step;
  if (!step) return;
  tip.replaceChildren(el("b", String(index + 1)), el("code", glyphs(step.token)), kind.say(step));
  const left = frame.offsetLeft + index * pitch - frame.scrollLeft,
    right = left + Math.max(pitch, 8) + 4;
  const fits = right + tip.offsetWidth < box.clientWidth - 8;
  tip.style.left = `${Math.max(0, fits ? right : left - tip.offsetWidth - 4)}px`;
}

/** @param {Chart} chart @param {ChartDoors} doors */
function listen(chart, doors) {
  const { frame } = chart;
  const under = (/** @type {MouseEvent} */ { clientX }) =>
    Math.floor((clientX - frame.getBoundingClientRect().left + frame.scrollLeft) / chart.pitch);
  frame.addEventListener("pointermove", (event) => hover(chart, under(event)));
  frame.addEventListener("pointerleave", () => hover(chart, -1));
  frame.addEventListener("click", (event) => {
    const index = under(event);
    if (chart.steps[index]) doors.select(index);
  });
  frame.addEventListener("keydown", (event) => {
    const index = steppedIndex(event.key, chart.selected, chart.steps.length);
    if (index === undefined) {
      doors.key?.(event, Math.max(chart.selected, 0));
      return;
    }
    event.preventDefault();
    doors.select(index);
  });
  new ResizeObserver(() => drawSoon(chart)).observe(frame);
  on("theme", () => {
    chart.drawn = null;
    chart.colours.clear();
    drawSoon(chart);
  });
}

/** ``select`` is called when a bar is chosen, ``key`` with a key that chooses none.
    @typedef {{ select: (index: number) => void, key?: (event: KeyboardEvent, index: number) => void }} ChartDoors */

/** A chart in an empty box. @param {HTMLElement} box @param {ChartDoors} doors */
export function createChart(box, doors) {
  const axis = el("div.axis", { "aria-hidden": "true" }),
    canvas = el("canvas", { height: HIGH }),
    missing = el("p.missing", { hidden: true }),
    tip = el("div.tip", { hidden: true });
  const frame = el("div.chart", { role: "slider", tabindex: "0", "aria-valuemin": "1", "aria-valuemax": "1" }, canvas);
  box.replaceChildren(axis, frame, tip, missing);
  /** @type {Chart} */
  const chart = {
    box,
    axis,
    canvas,
    frame,
    tip,
    missing,
    steps: [],
    kind: KINDS.bits,
    selected: -1,
    hovered: -1,
    pitch: WIDEST,
    isAwaited: false,
    scale: "",
    widths: [0, 0],
    drawn: null,
    colours: new Map(),
  };
  listen(chart, doors);
  by(chart, "bits");
  return bound(chart, { show, mark, by });
}
