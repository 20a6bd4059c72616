/* Flags: the tokens that may follow, over a picture whose layout they never change. Each is beside the edge that its
   tokens read, or the state they lead to, where it hides the least. */

import { svgEl } from "./dom.js";

/** @import { Flag, Flags, Picture } from "./wire" */

const HIGH = 18, // of a flag
  APART = 3, // from what a flag belongs to, and from its edges
  SIDE = 5, // between the end of a text and the border
  WIDE = 190, // at most, with segments side by side
  REACH = 46, // the most to the side of what it belongs to
  FARTHER = 28, // beyond a box or a label at the same state
  STEP = 6; // between two points of a line
/** How bad it is to hide a point of a state, of a flag, of a label; a step of another edge's line. */
const STATE = 4,
  FLAG = 8,
  LABEL = 1,
  LINE = 40;

/** @typedef {{ x: number, y: number, width: number, height: number }} Rect */

const shape = (name, attributes, parent) => {
  const made = svgEl(name, attributes);
  parent?.append(made);
  return made;
};
/** The area that two rectangles have in common. @param {Rect} one @param {Rect} other */
const common = (one, other) =>
  Math.max(0, Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x)) *
  Math.max(0, Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y));
const middleOf = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

const isInside = (rect, { x, y }) => common(rect, { x, y, width: 1, height: 1 }) > 0;
/** The points of the lines of an automaton's edges; a flag on a line seems to belong to its edge. */
const linesOf = (svg) =>
  [...svg.querySelectorAll(".edge path:first-of-type")].map((line) => {
    const points = Array.from({ length: line.getTotalLength() / STEP }, (_, i) => line.getPointAtLength(i * STEP));
    return { edge: line.closest(".edge"), points };
  });

/** A flag's group with its segments, at the origin: side by side, or one below the other if they are wide.
    @param {Flag} flag @param {number} index */
function drawn(flag, index, parent) {
  const group = shape("g", { class: "flag" }, parent);
  const segments = [];
  flag.segments.forEach((segment, number) => {
    const { mark } = segment.edge;
    // tokens that are read after returning from a rule have the lighter mark
    const kind = `label segment${mark?.includes("▼") ? " returns" : ""}`;
    const one = shape("g", { class: kind, "data-flag": `${index} ${number}` }, group);
    shape("title", {}, one).textContent = segment.edge.title;
    const box = shape("rect", { class: "box", height: HIGH, rx: 4 }, one);
    const text = shape("text", { x: SIDE, y: HIGH / 2 + 4, "font-size": 11 }, one);
    shape("tspan", {}, text).textContent = segment.text;
    for (const part of (mark ?? "").split(" ").filter(Boolean))
      shape("tspan", { class: part[0] === "▼" ? "pop" : "push" }, text).textContent = ` ${part}`;
    const wide = Math.max(HIGH, text.getBBox().width + 2 * SIDE);
    text.setAttribute("x", String((wide - text.getBBox().width) / 2));
    box.setAttribute("width", String(wide));
    segments.push({ one, wide });
  });
  const widths = segments.map(({ wide }) => wide);
  const inLine = widths.reduce((sum, wide) => sum + wide, 0);
  const stacked = inLine > WIDE && segments.length > 1;
  let [x, y] = [0, 0];
  for (const { one, wide } of segments) {
    one.setAttribute("transform", `translate(${x.toFixed(1)} ${y})`);
    if (stacked) y += HIGH;
    else x += wide;
  }
  return { group, width: stacked ? Math.max(...widths) : inLine, height: stacked ? y : HIGH };
}

/** Places for a flag around what it belongs to and on the line of its edge, the best first.
    @param {Rect} home @param {DOMPoint[]} line @returns {Rect[]} */
function places(home, width, height, line) {
  const [x, y] = middleOf(home),
    above = home.y - height - APART,
    below = home.y + home.height + APART;
  const sides = [0, -REACH / 2, REACH / 2, -REACH, REACH];
  const rows = [above, below, above - FARTHER, below + FARTHER];
  const onLine = (line.length ? [0.5, 0.35, 0.65, 0.2, 0.8] : []).map((share) => line[Math.floor(share * line.length)]);
  return [
    ...onLine.map((point) => [point.x - width / 2, point.y - height / 2]),
    ...rows.flatMap((row) => sides.map((side) => [x - width / 2 + side, row])),
    [home.x + home.width + APART, y - height / 2],
    [home.x - width - APART, y - height / 2],
    [x - width / 2, y - height / 2],
  ].map(([left, top]) => ({ x: left, y: top, width, height }));
}

/** Draw flags into a picture; returns the group that holds them.
    @param {SVGSVGElement} svg @param {Picture} picture @param {Flags} answer
    @param {{ element: (id: string) => Element | null, labels: (edge: number) => SVGGraphicsElement }} find */
export function drawFlags(svg, picture, answer, { element, labels }) {
  const layer = shape("g", { class: "flags" }, svg.querySelector("g"));
  /** @returns {SVGGraphicsElement | undefined} */
  const ellipse = (state) => element(`state-${state}`)?.querySelector("ellipse, rect, polygon");
  /** @returns {Rect | null} */
  const labelOf = (edge) =>
    labels(edge)?.getBBox() ?? element(`edge-${edge}`)?.querySelector("text")?.getBBox() ?? null;
  const boxes = (selector, kind) =>
    [.../** @type {NodeListOf<SVGGraphicsElement>} */ (svg.querySelectorAll(selector))].map((one) => [
      one.getBBox(),
      kind,
    ]);
  const hidden = [
    ...boxes(".node ellipse:first-of-type, .call rect", STATE),
    ...boxes(".edge text, .label text, text.name", LABEL),
  ];
  const lanes = svg.matches(".lanes"),
    lines = lanes ? [] : linesOf(svg);
  answer.flags.forEach((flag, index) => {
    const goal = ellipse(flag.anchor)?.getBBox();
    if (!goal) return;
    const within = flag.place.startsWith("edge-") ? Number(flag.place.slice(5)) : -1;
    const edge =
      within >= 0
        ? within
        : picture.edges.findIndex((each) => each.source === answer.state && each.target === flag.anchor);
    const home = (edge >= 0 && labelOf(edge)) || goal;
    const { group, width, height } = drawn(flag, index, layer);
    const own = element(`edge-${edge}`),
      others = lines.flatMap((line) => (line.edge === own ? [] : line.points)),
      line = lines.find((each) => each.edge === own)?.points ?? [];
    const cost = (place, order) =>
      order * 6 +
      hidden.reduce((sum, [rect, weight]) => sum + weight * common(place, rect), 0) +
      LINE * others.filter((point) => isInside(place, point)).length;
    const costs = places(home, width, height, line).map(
      (place, order) => /** @type {const} */ ([cost(place, order), place]),
    );
    const [, best] = costs.reduce((one, other) => (other[0] < one[0] ? other : one));
    group.setAttribute("transform", `translate(${best.x.toFixed(1)} ${best.y.toFixed(1)})`);
    hidden.push([best, FLAG]);
    if (edge >= 0) element(`edge-${edge}`)?.classList.add("ahead");
    else {
      const from = ellipse(answer.state)?.getBBox();
      layer.prepend(arrow(best, goal));
      if (from && !lanes) layer.prepend(way(from, best));
    }
    element(`state-${flag.anchor}`)?.classList.toggle("landing", within < 0);
  });
  return layer;
}

/** An arrow from a flag to its state. @param {Rect} flag @param {Rect} goal */
function arrow(flag, goal) {
  const [x, y] = middleOf(goal),
    up = flag.y > y;
  const from = [Math.min(Math.max(x, flag.x + 4), flag.x + flag.width - 4), up ? flag.y : flag.y + flag.height];
  const end = up ? goal.y + goal.height : goal.y,
    tip = up ? "l-3 6h6z" : "l-3 -6h6z";
  return shape("path", { class: "stem", d: `M${from[0]} ${from[1]}L${x} ${end}M${x} ${end}${tip}` });
}

/** A line from the current state to a flag. @param {Rect} from @param {Rect} flag */
function way(from, flag) {
  const [x, y] = middleOf(from),
    [to, level] = middleOf(flag);
  const end = to > x ? flag.x : flag.x + flag.width;
  const lift = level < y ? from.y : from.y + from.height;
  return shape("path", { class: "way", d: `M${x} ${lift}Q${x + (end - x) * 0.25} ${level} ${end} ${level}` });
}

/** Mark the segment of the token that was taken: it ends in one of ``ends`` and does that to the stack.
    @param {Flags} answer @param {string[]} ends */
export function markTaken(layer, answer, ends, effect) {
  for (const taken of layer.querySelectorAll(".taken")) taken.classList.remove("taken");
  const segments = answer.flags.flatMap((flag, index) =>
    flag.segments.map((segment, part) => ({ key: `${index} ${part}`, ends: segment.ends, mark: segment.edge.mark })),
  );
  const first = segments.filter((one) => one.ends.includes(ends[0])),
    leads = first.length ? first : segments.filter((one) => one.ends.some((end) => ends.includes(end)));
  const found = leads.find((one) => one.mark === effect) ?? leads[0];
  if (found) layer.querySelector(`[data-flag="${found.key}"]`)?.classList.add("taken");
}
