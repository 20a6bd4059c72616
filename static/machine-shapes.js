/* Where the parts of a drawn machine are: discs, curves that pass other states, loops, and labels that cover
   neither. Pure geometry; ``drawing.js`` makes elements of it. */

/** @import { Model } from "./machine-text.js" */

const LEAST_RADIUS = 24,
  MOST_RADIUS = 44,
  LETTER = 7.3, // width of a letter of a label
  LINE = 17,
  APART = 22; // how far two edges that run both ways are bent
/** The most letters that a state and a label show. */
const MOST_NAME = 10,
  MOST_LABEL = 28;

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
export const nameShown = (name) => shortened(name, MOST_NAME);
const labelShown = (label) => shortened(label || "ε", MOST_LABEL);
export const radiusOf = (name) =>
  Math.min(MOST_RADIUS, Math.max(LEAST_RADIUS, (LETTER * [...nameShown(name)].length) / 2 + 9));

const add = (a, b, times = 1) => ({ x: a.x + times * b.x, y: a.y + times * b.y });
const sub = (a, b) => ({ x: a.x - b.x, y: a.y - b.y });
const size = (a) => Math.hypot(a.x, a.y);
const unit = (a) => {
  const length = size(a) || 1;
  return { x: a.x / length, y: a.y / length };
};
const turned = (angle) => ({ x: Math.cos(angle), y: Math.sin(angle) });
const round = (value) => Math.round(value * 10) / 10;
const point = ({ x, y }) => `${round(x)} ${round(y)}`;

/** The distance of a point from the line between two others. */
function distance(at, from, to) {
  const along = sub(to, from),
    square = along.x ** 2 + along.y ** 2 || 1;
  const part = Math.max(0, Math.min(1, ((at.x - from.x) * along.x + (at.y - from.y) * along.y) / square));
  return size(sub(at, add(from, along, part)));
}

/** A direction in which a state has room: its preferred ones first. */
function freeAngle(taken, preferred) {
  let best = preferred[0],
    most = -1;
  for (const angle of preferred) {
    const near = Math.min(
      Math.PI,
      ...taken.map((one) => Math.abs(Math.atan2(Math.sin(angle - one), Math.cos(angle - one)))),
    );
    if (near > 0.9) return angle;
    if (near > most) [best, most] = [angle, near];
  }
  return best;
}

const UP = -Math.PI / 2,
  LEFT = Math.PI;
const AROUND = [0, 1, -1, 2, -2, 3, -3, 4].map((step) => (step * Math.PI) / 4);

/** All shapes of a machine whose states are at ``places``.
    @param {Model} model @param {Map<string, { x: number, y: number }>} places */
export function shapesOf(model, places) {
  const discs = new Map();
  for (const state of model.states.values())
    discs.set(state.name, { ...places.get(state.name), r: radiusOf(state.name), taken: [] });
  const groups = new Map();
  model.edges.forEach((edge, index) => {
    const key = `${edge.source} ${edge.target}`;
    if (!groups.has(key)) groups.set(key, { key, source: edge.source, target: edge.target, edges: [] });
    groups.get(key).edges.push(index);
  });
  // entries and loops go where curves leave room
  const curves = new Map();
  for (const group of groups.values())
    if (group.source !== group.target)
      curves.set(group.key, curve(group, discs, groups.has(`${group.target} ${group.source}`)));
  for (const state of model.states.values()) {
    const disc = discs.get(state.name);
    if (!state.initial) continue;
    disc.entry = freeAngle(
      disc.taken,
      AROUND.map((angle) => LEFT + angle),
    );
    disc.taken.push(disc.entry);
  }
  const ways = [...groups.values()].map((group) => curves.get(group.key) ?? loop(group, discs.get(group.source)));
  const boxes = [];
  for (const way of ways) placeLabel(way, model, discs, boxes);
  return { discs, ways, bounds: boundsOf(discs, boxes) };
}

function loop(group, disc) {
  const angle = freeAngle(
    disc.taken,
    AROUND.map((step) => UP + step),
  );
  disc.taken.push(angle);
  const [from, to] = [angle - 0.42, angle + 0.42].map((side) => add(disc, turned(side), disc.r));
  const [one, two] = [angle - 0.55, angle + 0.55].map((side) => add(disc, turned(side), disc.r + 44));
  const outward = turned(angle);
  return {
    ...group,
    path: `M${point(from)} C${point(one)} ${point(two)} ${point(to)}`,
    tip: to,
    heading: unit(sub(to, two)),
    at: () => add(disc, outward, disc.r + 34),
    normal: () => outward,
    sides: [1],
  };
}

/** How far the edge is bent: apart from the edge back, or around states in its way. */
function bendOf(group, discs, both) {
  const [a, b] = [discs.get(group.source), discs.get(group.target)];
  const across = turned(Math.atan2(b.y - a.y, b.x - a.x) - Math.PI / 2);
  let bend = both ? APART : 0;
  for (const tried of [bend, -bend, 45, -45, 80, -80, 120, -120]) {
    const middle = add(add(a, sub(b, a), 0.5), across, 2 * tried);
    const clear = [...discs].every(
      ([name, disc]) =>
        name === group.source ||
        name === group.target ||
        ([0.25, 0.5, 0.75].every((t) => {
          const at = onCurve(a, middle, b, t);
          return size(sub(at, disc)) > disc.r + 8;
        }) &&
          (tried || distance(disc, a, b) > disc.r + 8)),
    );
    if (clear && (!both || tried > 0)) return { bend: tried, across };
  }
  bend = both ? APART : 0;
  return { bend, across };
}

const onCurve = (a, c, b, t) => ({
  x: (1 - t) ** 2 * a.x + 2 * t * (1 - t) * c.x + t ** 2 * b.x,
  y: (1 - t) ** 2 * a.y + 2 * t * (1 - t) * c.y + t ** 2 * b.y,
});

function curve(group, discs, both) {
  const [a, b] = [discs.get(group.source), discs.get(group.target)];
  const { bend, across } = bendOf(group, discs, both);
  const control = add(add(a, sub(b, a), 0.5), across, 2 * bend);
  const from = add(a, unit(sub(control, a)), a.r),
    tip = add(b, unit(sub(control, b)), b.r);
  a.taken.push(Math.atan2(control.y - a.y, control.x - a.x));
  b.taken.push(Math.atan2(control.y - b.y, control.x - b.x));
  const side = bend < 0 ? -1 : 1;
  return {
    ...group,
    path: bend ? `M${point(from)} Q${point(control)} ${point(tip)}` : `M${point(from)} L${point(tip)}`,
    tip,
    heading: unit(sub(tip, control)),
    at: (t) => onCurve(from, control, tip, t),
    normal: () => ({ x: side * across.x, y: side * across.y }),
    sides: both ? [1] : [1, -1],
  };
}

const covers = (box, disc) =>
  Math.hypot(Math.max(box.x - disc.x, 0, disc.x - box.x - box.w), Math.max(box.y - disc.y, 0, disc.y - box.y - box.h)) <
  disc.r + 3;
/** Whether two labels are nearer than the width of a letter. */
const meets = (a, b) => a.x < b.x + b.w + LETTER && b.x < a.x + a.w + LETTER && a.y < b.y + b.h && b.y < a.y + a.h;

/** Place the labels of an edge, one below the other, next to the curve: they cover no state and no other label. */
function placeLabel(way, model, discs, boxes) {
  const lines = way.edges.map((index) => labelShown(model.edges[index].label));
  const w = Math.max(...lines.map((line) => LETTER * [...line].length)) + 8,
    h = LINE * lines.length;
  const normal = way.normal();
  const reach = Math.abs(normal.x) * (w / 2) + Math.abs(normal.y) * (h / 2) + 3;
  /** @type {{ x: number, y: number, w: number, h: number } | undefined} */
  let first;
  /** @type {typeof first} */
  let chosen;
  search: for (let further = 0; further < 10; further++)
    for (const t of [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74])
      for (const side of way.sides) {
        const centre = add(way.at(t), normal, side * (reach + 13 * further));
        const box = { x: centre.x - w / 2, y: centre.y - h / 2, w, h };
        first ??= box;
        if ([...discs.values()].some((disc) => covers(box, disc)) || boxes.some((other) => meets(box, other))) continue;
        chosen = box;
        break search;
      }
  way.box = chosen ?? first;
  way.labels = lines.map((text, index) => ({
    edge: way.edges[index],
    text,
    x: round(way.box.x + w / 2),
    y: round(way.box.y + LINE * (index + 0.5)),
    w,
    h: LINE,
  }));
  boxes.push(way.box);
}

function boundsOf(discs, boxes) {
  if (!discs.size) return { x: 0, y: 0, w: 320, h: 200 };
  const all = [
    ...boxes,
    ...[...discs.values()].map(({ x, y, r, entry }) => {
      const out = r + (entry === undefined ? 6 : 40);
      return { x: x - out, y: y - r - 6, w: 2 * out, h: 2 * r + 12 };
    }),
  ];
  const x = Math.min(...all.map((one) => one.x)),
    y = Math.min(...all.map((one) => one.y));
  return {
    x,
    y,
    w: Math.max(...all.map((one) => one.x + one.w)) - x,
    h: Math.max(...all.map((one) => one.y + one.h)) - y,
  };
}

/** The corners of an arrow's head. */
export function head({ tip, heading }, length = 10) {
  const back = add(tip, heading, -length),
    across = { x: -heading.y, y: heading.x };
  return [tip, add(back, across, length * 0.45), add(back, across, -length * 0.45)].map(point).join(" ");
}

/** The arrow into an initial state: its line, and its head. */
export function entryOf({ x, y, r, entry }) {
  const out = turned(entry),
    tip = add({ x, y }, out, r),
    from = add({ x, y }, out, r + 26);
  return { path: `M${point(from)} L${point(tip)}`, tip, heading: { x: -out.x, y: -out.y } };
}

/** Positions for states that have none: the others in rows by their distance from an initial state.
    @param {Model} model @param {Map<string, { x: number, y: number }>} known */
export function filled(model, known) {
  const places = new Map();
  for (const { name, place } of model.states.values()) {
    const at = place ?? known.get(name);
    if (at) places.set(name, at);
  }
  const missing = [...model.states.values()].filter(({ name }) => !places.has(name));
  if (!missing.length) return places;
  const rank = new Map([...model.states.values()].filter((one) => one.initial).map(({ name }) => [name, 0]));
  const waiting = [...rank.keys()];
  for (const name of waiting)
    for (const { source, target } of model.edges)
      if (source === name && !rank.has(target)) {
        rank.set(target, (rank.get(name) ?? 0) + 1);
        waiting.push(target);
      }
  const top = places.size ? Math.max(...[...places.values()].map((one) => one.y)) + 120 : 90;
  const rows = new Map();
  for (const { name } of missing) {
    const column = rank.get(name) ?? 0,
      row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    places.set(name, { x: 90 + 130 * column, y: top + 110 * row });
  }
  return places;
}
