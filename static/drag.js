/* States of a Graphviz picture are moved by a pointer or by keys, and their edges are redrawn between them; a picture
   that replaces another of the same machine moves its states from their old positions. An offset is kept by machine,
   state id and label, so a state keeps its position while the grammar is edited.
   d3-drag would replace the pointer alone, which the camera has anyway; edges and labels would be redrawn here too. */

import { bound } from "./bound.js";
import { setAttributes, svgEl, useUp } from "./dom.js";
import { stateOf } from "./graph-state.js";
import { on } from "./state.js";

/** ``at`` is the offset of a box, ``bend`` how far an edge is bent, ``ground`` what hides the lines behind its label.
    @typedef {[number, number]} Point
    @typedef {{ x: number, y: number, w: number, h: number, at: Point }} Box
    @typedef {Box & { group: SVGGraphicsElement, round: boolean }} DragNode
    @typedef {{ group: SVGGraphicsElement, source: DragNode, target: DragNode, lines: SVGPathElement[],
      tip: SVGElement | null, texts: SVGTextElement[], d: string, points: string, label: Box | null, length: number,
      middle: DOMPoint, bend: number, several?: boolean, ground?: SVGElement }} DragEdge */

/** ``kept`` are the offsets by machine and ``offsets`` those of the shown one, by the names of its states. ``nodes``
    and ``edges`` are measured when the first state is moved.
    @typedef {{
      kept: Map<string, Map<string, Point>>, svg: SVGSVGElement | null, offsets: Map<string, Point>,
      names: Map<string, string>, isMeasured: boolean, nodes: Map<string, DragNode>, edges: DragEdge[],
      machine: (() => string) | null,
    }} Drag */

const TIP = 6;
const HALF = 2.1; // length of an arrow head and half its width, as Graphviz draws them
const APART = 18; // points between the middles of two edges that join the same states
const STEP = 7;
const TRIES = 24; // how far a label is shifted until it covers nothing, and how often
const SPACE = 5; // points of blank at both ends of a label of Graphviz that need no ground

/** @type {Point} */
const NOWHERE = [0, 0];

const moved = (at) => at[0] !== 0 || at[1] !== 0;

/** @param {Box} one @returns {Point} */
const place = (one) => [one.x + one.at[0], one.y + one.at[1]];

/** Whether two boxes, given by their centre and half their sides, overlap.
    @param {number} x @param {number} y @param {Box} one @param {Point} at @param {Box} other */
const overlap = (x, y, one, [ox, oy], other) =>
  Math.abs(x - ox) < one.w + other.w && Math.abs(y - oy) < one.h + other.h;

/** @param {SVGGraphicsElement[]} elements @returns {Box} */
function boxOf(elements) {
  const boxes = elements.map((each) => each.getBBox());
  const [left, top] = [Math.min(...boxes.map((b) => b.x)), Math.min(...boxes.map((b) => b.y))];
  const w = (Math.max(...boxes.map((b) => b.x + b.width)) - left) / 2,
    h = (Math.max(...boxes.map((b) => b.y + b.height)) - top) / 2;
  return { x: left + w, y: top + h, w, h, at: NOWHERE };
}

/** The point on the outline of a state in the direction of another point.
    @param {DragNode} node @param {Point} point */
function outline(node, [x, y]) {
  const [cx, cy] = place(node),
    dx = x - cx,
    dy = y - cy;
  const share = node.round
    ? Math.hypot(dx / node.w, dy / node.h)
    : Math.max(Math.abs(dx) / node.w, Math.abs(dy) / node.h);
  return share ? [cx + dx / share, cy + dy / share] : [cx + node.w, cy];
}

/** The boxes of states and labels, and how far Graphviz bent each edge; read when the first state is moved.
    @param {Drag} drag */
function measure(drag) {
  const { svg, names, nodes } = drag;
  if (!svg) return;
  drag.isMeasured = true;
  nodes.clear();
  drag.edges = [];
  /** @type {NodeListOf<SVGGraphicsElement>} */
  const groups = svg.querySelectorAll(".node[data-id]");
  for (const group of groups) {
    /** @type {NodeListOf<SVGGraphicsElement>} */
    const shapes = group.querySelectorAll("ellipse, polygon, rect, path:not(.start)"),
      id = stateOf(group);
    if (shapes.length && names.has(id))
      nodes.set(id, { ...boxOf([...shapes]), group, round: shapes[0].nodeName === "ellipse" });
  }
  /** @type {NodeListOf<SVGGraphicsElement>} */
  const edges = svg.querySelectorAll(".edge");
  for (const group of edges) {
    const source = nodes.get(group.dataset.source ?? ""),
      target = nodes.get(group.dataset.target ?? "");
    if (source && target && group.querySelector("path")) drag.edges.push(measuredEdge(group, source, target));
  }
  separateEdges(drag);
}

/** @param {SVGGraphicsElement} group @param {DragNode} source @param {DragNode} target @returns {DragEdge} */
function measuredEdge(group, source, target) {
  const lines = [...group.querySelectorAll("path")],
    texts = [...group.querySelectorAll("text")],
    tip = group.querySelector("polygon");
  const length = Math.hypot(target.x - source.x, target.y - source.y) || 1,
    middle = lines[0].getPointAtLength(lines[0].getTotalLength() / 2);
  const bend =
    ((middle.y - (source.y + target.y) / 2) * (target.x - source.x) -
      (middle.x - (source.x + target.x) / 2) * (target.y - source.y)) /
    length;
  const label = texts.length ? boxOf(texts) : null,
    [d, points] = [lines[0].getAttribute("d") ?? "", tip?.getAttribute("points") ?? ""];
  return { group, source, target, lines, tip, texts, d, points, label, length, middle, bend };
}

/** Edges that join the same two states are bent by different amounts. @param {Drag} drag */
function separateEdges(drag) {
  const order = [...drag.nodes.values()],
    pairs = new Map();
  for (const edge of drag.edges) {
    const [a, b] = [order.indexOf(edge.source), order.indexOf(edge.target)],
      key = `${Math.min(a, b)} ${Math.max(a, b)}`;
    if (a !== b) pairs.set(key, [...(pairs.get(key) ?? []), { edge, side: a < b ? 1 : -1 }]);
  }
  for (const pair of pairs.values()) {
    pair.sort((one, other) => one.side * one.edge.bend - other.side * other.edge.bend);
    pair.slice(1).forEach(({ edge, side }, i) => {
      edge.bend = side * Math.max(side * edge.bend, pair[i].side * pair[i].edge.bend + APART);
    });
    if (pair.length > 1) for (const { edge } of pair) edge.several = true;
  }
}

/** Whether a state that was moved is over the label of an edge. */
function covers(node, edge) {
  if (!edge.label || !moved(node.at)) return false;
  const [x, y] = place(edge.label);
  return overlap(x, y, edge.label, place(node), node);
}

function restoreEdge(edge) {
  for (const line of edge.lines) line.setAttribute("d", edge.d);
  if (edge.tip) edge.tip.setAttribute("points", edge.points);
  placeLabel(edge, null);
}

/** The label at a place, on a ground that hides the lines behind it; without a place as Graphviz put it. */
function placeLabel(edge, at) {
  if (!edge.label) return;
  edge.ground?.remove();
  edge.label.at = at ?? NOWHERE;
  for (const text of edge.texts)
    if (at) text.setAttribute("transform", `translate(${at})`);
    else text.removeAttribute("transform");
  if (!at) return;
  edge.ground ??= svgEl("rect");
  const { x, y, w, h } = edge.label;
  setAttributes(edge.ground, {
    class: "paper",
    x: x - w + SPACE,
    y: y - h,
    width: 2 * (w - SPACE),
    height: 2 * h,
    transform: `translate(${at})`,
  });
  edge.texts[0].before(edge.ground);
}

/** @param {Drag} drag */
function redrawEdge(drag, edge) {
  const { source, target } = edge;
  edge.group.removeAttribute("transform");
  if (!moved(source.at) && !moved(target.at)) {
    restoreEdge(edge);
    /** @type {Point} */
    const normal = [(source.y - target.y) / edge.length, (target.x - source.x) / edge.length];
    if (source !== target && edge.label && [...drag.nodes.values()].some((node) => covers(node, edge)))
      placeLabel(edge, freePlace(drag, edge, edge.label, [edge.middle.x, edge.middle.y], normal));
    return;
  }
  if (source === target) {
    edge.group.setAttribute("transform", `translate(${source.at})`);
    if (edge.label) edge.label.at = source.at;
    return;
  }
  const [ax, ay] = place(source),
    [bx, by] = place(target),
    length = Math.hypot(bx - ax, by - ay) || 1;
  /** @type {Point} */
  const normal = [(ay - by) / length, (bx - ax) / length],
    bend = edge.bend * (edge.several ? 1 : Math.min(1, length / edge.length));
  /** @type {Point} */
  const control = [(ax + bx) / 2 + 2 * bend * normal[0], (ay + by) / 2 + 2 * bend * normal[1]];
  const start = outline(source, control),
    point = outline(target, control),
    far = Math.hypot(point[0] - control[0], point[1] - control[1]) || 1;
  const [ux, uy] = [(point[0] - control[0]) / far, (point[1] - control[1]) / far],
    end = edge.tip ? [point[0] - TIP * ux, point[1] - TIP * uy] : point;
  for (const line of edge.lines) line.setAttribute("d", `M${start}Q${control} ${end}`);
  edge.tip?.setAttribute(
    "points",
    [point, [end[0] - HALF * uy, end[1] + HALF * ux], [end[0] + HALF * uy, end[1] - HALF * ux], point].join(" "),
  );
  for (const bead of edge.group.querySelectorAll(".bead")) {
    const { x: cx, y: cy } = edge.lines[0].getPointAtLength(edge.lines[0].getTotalLength() * bead.dataset.share);
    setAttributes(bead, { cx, cy });
  }
  /** @type {Point} */
  const middle = [(start[0] + 2 * control[0] + end[0]) / 4, (start[1] + 2 * control[1] + end[1]) / 4];
  if (edge.label) placeLabel(edge, freePlace(drag, edge, edge.label, middle, normal));
}

/** The offset of a label to the middle of its edge, or next to it if a state or a label is there.
    @param {Drag} drag @param {DragEdge} edge @param {Box} label @param {Point} middle @param {Point} normal
    @returns {Point} */
function freePlace(drag, edge, label, [x, y], [nx, ny]) {
  const states = [...drag.nodes.values()],
    labels = drag.edges.flatMap((each) => (each.label && each.label !== label ? [each.label] : []));
  for (let i = 0; i < TRIES; i++) {
    const shift = Math.ceil(i / 2) * STEP * (i % 2 ? 1 : -1) * (edge.bend < 0 ? -1 : 1),
      [cx, cy] = [x + shift * nx, y + shift * ny];
    if ([...states, ...labels].every((other) => !overlap(cx, cy, label, place(other), other)))
      return [cx - label.x, cy - label.y];
  }
  return [x - label.x, y - label.y];
}

/** @param {Drag} drag */
function moveTo(drag, id, at) {
  if (!drag.isMeasured) measure(drag);
  const node = drag.nodes.get(id),
    name = drag.names.get(id) ?? "";
  if (!node) return;
  node.at = at;
  if (moved(at)) drag.offsets.set(name, at);
  else drag.offsets.delete(name);
  if (moved(at)) node.group.setAttribute("transform", `translate(${at})`);
  else node.group.removeAttribute("transform");
  if (node.group.nextSibling) node.group.parentNode?.append(node.group); // over the edges it is moved across
  for (const edge of drag.edges)
    if (edge.source === node || edge.target === node || edge.ground?.isConnected || covers(node, edge))
      redrawEdge(drag, edge);
}

/** @param {Drag} drag */
const offsetOf = (drag, id) => drag.offsets.get(drag.names.get(id) ?? "") ?? NOWHERE;

/** Move a state by pixels of the screen. @param {Drag} drag */
function moveBy(drag, id, dx, dy) {
  const unit = drag.svg?.getScreenCTM()?.a || 1,
    [x, y] = offsetOf(drag, id);
  moveTo(drag, id, [x + dx / unit, y + dy / unit]);
}

/** A picture is shown: the states that were in the one before keep their offsets. @param {Drag} drag */
function open(drag, next, record) {
  const machine = drag.machine?.() ?? "";
  drag.svg = machine && next?.matches(".machine:not(.lanes)") ? next : null;
  drag.isMeasured = false;
  if (!drag.svg) return;
  drag.svg.classList.add("movable");
  drag.names = new Map(record.states.map((each) => [each.id, `${each.id} ${each.label}`]));
  const before = drag.kept.get(machine) ?? new Map();
  drag.offsets = new Map();
  drag.kept.set(machine, drag.offsets);
  for (const [id, name] of drag.names) if (before.has(name)) moveTo(drag, id, before.get(name));
}

/** What moves the state under a pointer; null if no movable state is there. @param {Drag} drag */
function grab(drag, target) {
  const node = drag.svg && target.closest?.(".node[data-id]");
  if (!node || !drag.svg?.contains(node)) return null;
  const id = node.dataset.id.replace(/^state-/, ""),
    first = offsetOf(drag, id);
  let held = drag.names.has(id);
  const cancel = (event) => {
    if (event.key === "Escape") {
      useUp(event);
      moveTo(drag, id, first);
      drop();
    }
  };
  const drop = () => {
    held = false;
    document.removeEventListener("keydown", cancel, true);
  };
  if (held) document.addEventListener("keydown", cancel, true);
  return {
    move: (dx, dy) => {
      if (held && drag.svg?.contains(node)) moveBy(drag, id, dx, dy);
    },
    drop,
  };
}

/** Move the picked state with a key; whether it was moved. @param {Drag} drag */
function key(drag, id, name) {
  const to = { ArrowLeft: [-10, 0], ArrowRight: [10, 0], ArrowUp: [0, -10], ArrowDown: [0, 10] }[name];
  if (!drag.svg || !to || !drag.names.has(id)) return false;
  moveBy(drag, id, to[0], to[1]);
  return true;
}

/** Put one state back, or all. @param {Drag} drag @param {string} [id] */
function reset(drag, id) {
  if (!drag.svg) return;
  for (const [one, name] of drag.names)
    if (drag.offsets.has(name) && (id === undefined || one === id)) moveTo(drag, one, NOWHERE);
}

/** ``machine()`` names the machine that is shown. Without it no state can be moved.
    @param {(() => string) | null} machine */
export function createDrag(machine) {
  /** @type {Drag} */
  const drag = {
    machine,
    kept: new Map(),
    svg: null,
    offsets: new Map(),
    names: new Map(),
    isMeasured: false,
    nodes: new Map(),
    edges: [],
  };
  if (machine) on("example", () => drag.kept.clear());
  return bound(drag, { open, grab, key, reset });
}
