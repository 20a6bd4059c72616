/* The chart over the strip: one bar a token, of one kind at a time; it shares the strip's selection.
   Drawn on a canvas: a thousand tokens as elements cost a layout each time one is added. */

import { KINDS } from "./chart-kinds.js";
import { el } from "./dom.js";
import { on, state } from "./state.js";
import { glyphs } from "./tokens.js";

const HIGH = 84,
  LINE = 56; // pixels: the whole, and where the line lies of kinds that also go down
const WIDEST = 61,
  GAP = 3,
  NARROWEST = 4;
const EDGE = 2, // pixels free over and under the bars
  BREAK = 8; // pixels from the end of a bar that is longer than the scale: there it has a gap

/** The pixels above which a share of the scale ends. */
const heightOf = (both, part, below) =>
  below ? LINE + 1 + part * (HIGH - LINE - EDGE) : (both ? LINE : HIGH - 1) * (1 - part) + EDGE * part;

/** A chart in an empty box. `doors.select(index)` is called when a bar is chosen. */
export function createChart(box, doors) {
  const axis = el("div", { class: "axis", "aria-hidden": "true" });
  const canvas = el("canvas", { height: HIGH }),
    missing = el("p", { class: "missing", hidden: true }),
    tip = el("div", { class: "tip", hidden: true });
  const frame = el(
    "div",
    { class: "chart", role: "slider", tabindex: "0", "aria-valuemin": "1", "aria-valuemax": "1" },
    canvas,
  );
  box.replaceChildren(axis, frame, tip, missing);
  let steps = [],
    kind = KINDS.bits,
    selected = -1,
    over = -1,
    pitch = WIDEST,
    asked = false,
    scale = "",
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

  /** The marks of the scale, and the names of its parts. */
  function drawScale(most) {
    const marks = kind.marks(most),
      shown = `${kind.name} ${most}`;
    if (scale === shown) return;
    scale = shown;
    axis.replaceChildren(
      ...marks.map(([part, label, below]) =>
        el("span", { class: "tick", style: `top:${heightOf(kind.both, part, below)}px` }, label),
      ),
      ...kind.names.map(([name, colour], index) =>
        el(
          "span",
          { class: "part", style: `color:var(${colour});top:${kind.both ? index * LINE : index * 15}px` },
          name,
        ),
      ),
    );
  }
  /** A thin line at each mark of the scale that is between its ends. */
  function drawMarks(pen, most) {
    pen.fillStyle = colours?.get("--line");
    for (const [part, , below] of kind.marks(most))
      if (part) pen.fillRect(0, Math.round(heightOf(kind.both, part, below)), widths[0], 1);
  }
  /** Draw all bars, or only the new ones where nothing else has changed. */
  function draw() {
    asked = false;
    if (!box.isConnected || !frame.clientWidth) return;
    layout();
    const most = kind.most ? kind.most(steps) : 1,
      floor = kind.both ? LINE : HIGH - 1,
      gap = pitch > 12 ? GAP : 1,
      pen = /** @type {any} */ (canvas.getContext("2d"));
    const looks = [kind.name, most, pitch, selected, over].join(" ");
    const added = drawn?.steps === steps && drawn.looks === looks && drawn.count <= steps.length;
    const from = drawn && added ? drawn.count : 0;
    drawn = { steps, looks, count: steps.length };
    if (!colours?.get("--bar")) colours = inks(); // empty before the sheet has loaded
    pen.setTransform(widths[1], 0, 0, widths[1], 0, 0);
    if (!added) {
      pen.clearRect(0, 0, widths[0], HIGH);
      drawMarks(pen, most);
    }
    drawScale(most);
    missing.textContent = (steps.length && kind.missing?.(steps)) || "";
    missing.hidden = !missing.textContent;
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
        const high = Math.max(below ? 0 : 1, part * (below ? HIGH - LINE - EDGE : floor - EDGE));
        pen.fillStyle = colours.get(name);
        if (tick) pen.fillRect(x, floor - high, wide, 2);
        else if (below) {
          if (part) bar(x, floor + 1, wide, high, [0, 0, 2, 2]);
        } else bar(x, floor - high, wide, high, [2, 2, 0, 0]);
      }
      const [above, below] = kind.cut?.(steps[index]) ?? [];
      if (above) pen.clearRect(x, EDGE + BREAK, wide, 3);
      if (below) pen.clearRect(x, HIGH - EDGE - BREAK, wide, 3);
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
