/* States of a Graphviz picture are moved by a pointer or by keys, and their edges are redrawn between them; a picture
   that replaces another of the same machine moves its states from their old positions. An offset is kept by machine,
   state id and label, so a state keeps its position while the grammar is edited. */

import { on, state } from "./state.js";

const NS = "http://www.w3.org/2000/svg";
const TIP = 6,
  HALF = 2.1; // length of an arrow head and half its width, as Graphviz draws them
const APART = 18; // points between the middles of two edges that join the same states
const STEP = 7,
  TRIES = 24; // how far a label is shifted until it covers nothing, and how often
const SPACE = 5; // points of blank at both ends of a label of Graphviz that need no ground
/** @typedef {number[]} Point */
const NOWHERE = [0, 0];

const put = (element, attributes) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
};
const moved = (at) => at[0] !== 0 || at[1] !== 0;
const place = (one) => [one.x + one.at[0], one.y + one.at[1]];
/** Whether two boxes, given by their centre and half their sides, overlap.
    @param {number} x @param {number} y @param {any} one @param {Point} at @param {any} other */
const overlap = (x, y, one, [ox, oy], other) =>
  Math.abs(x - ox) < one.w + other.w && Math.abs(y - oy) < one.h + other.h;
function boxOf(elements) {
  const boxes = elements.map((each) => each.getBBox());
  const [left, top] = [Math.min(...boxes.map((b) => b.x)), Math.min(...boxes.map((b) => b.y))];
  const w = (Math.max(...boxes.map((b) => b.x + b.width)) - left) / 2,
    h = (Math.max(...boxes.map((b) => b.y + b.height)) - top) / 2;
  return { x: left + w, y: top + h, w, h, at: NOWHERE };
}
/** The point on the outline of a state in the direction of another point.
    @param {any} node @param {Point} point */
function outline(node, [x, y]) {
  const [cx, cy] = place(node),
    dx = x - cx,
    dy = y - cy;
  const share = node.round
    ? Math.hypot(dx / node.w, dy / node.h)
    : Math.max(Math.abs(dx) / node.w, Math.abs(dy) / node.h);
  return share ? [cx + dx / share, cy + dy / share] : [cx + node.w, cy];
}

/** ``machine()`` names the machine that is shown. Without it no state can be moved. */
export function createDrag(machine) {
  const kept = new Map();
  /** The picture; the others are set when its first state is moved. */
  let svg = /** @type {any} */ (null);
  let offsets = /** @type {any} */ (null),
    names = /** @type {any} */ (null),
    nodes = /** @type {any} */ (null),
    edges = /** @type {any} */ (null);
  if (machine) on("example", () => kept.clear());

  /** The boxes of states and labels, and how far Graphviz bent each edge; read when the first state is moved. */
  function measure() {
    nodes = new Map();
    for (const group of svg.querySelectorAll(".node[data-id]")) {
      const shapes = [...group.querySelectorAll("ellipse, polygon, rect, path:not(.start)")],
        id = group.dataset.id.replace(/^state-/, "");
      if (shapes.length && names.has(id))
        nodes.set(id, { ...boxOf(shapes), group, round: shapes[0].nodeName === "ellipse" });
    }
    edges = [];
    for (const group of svg.querySelectorAll(".edge")) {
      const source = nodes.get(group.dataset.source),
        target = nodes.get(group.dataset.target),
        lines = [...group.querySelectorAll("path")];
      if (!source || !target || !lines.length) continue;
      const texts = [...group.querySelectorAll("text")],
        tip = group.querySelector("polygon");
      const edge = {
        group,
        source,
        target,
        lines,
        tip,
        texts,
        d: lines[0].getAttribute("d"),
        points: tip?.getAttribute("points"),
        label: texts.length ? boxOf(texts) : null,
      };
      edge.length = Math.hypot(target.x - source.x, target.y - source.y) || 1;
      const middle = lines[0].getPointAtLength(lines[0].getTotalLength() / 2);
      edge.middle = middle;
      edge.bend =
        ((middle.y - (source.y + target.y) / 2) * (target.x - source.x) -
          (middle.x - (source.x + target.x) / 2) * (target.y - source.y)) /
        edge.length;
      edges.push(edge);
    }
    separate();
  }
  /** Edges that join the same two states are bent by different amounts. */
  function separate() {
    const order = [...nodes.values()],
      pairs = new Map();
    for (const edge of edges) {
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
  function restore(edge) {
    for (const line of edge.lines) line.setAttribute("d", edge.d);
    if (edge.tip) edge.tip.setAttribute("points", edge.points);
    label(edge, null);
  }
  /** The label at a place, on a ground that hides the lines behind it; without a place as Graphviz put it. */
  function label(edge, at) {
    if (!edge.label) return;
    edge.ground?.remove();
    edge.label.at = at ?? NOWHERE;
    for (const text of edge.texts)
      if (at) text.setAttribute("transform", `translate(${at})`);
      else text.removeAttribute("transform");
    if (!at) return;
    edge.ground ??= document.createElementNS(NS, "rect");
    const { x, y, w, h } = edge.label;
    put(edge.ground, {
      class: "paper",
      x: x - w + SPACE,
      y: y - h,
      width: 2 * (w - SPACE),
      height: 2 * h,
      transform: `translate(${at})`,
    });
    edge.texts[0].before(edge.ground);
  }
  function redraw(edge) {
    const { source, target } = edge;
    edge.group.removeAttribute("transform");
    if (!moved(source.at) && !moved(target.at)) {
      restore(edge);
      const normal = [(source.y - target.y) / edge.length, (target.x - source.x) / edge.length];
      if (source !== target && [...nodes.values()].some((node) => covers(node, edge)))
        label(edge, free(edge, [edge.middle.x, edge.middle.y], normal));
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
    const normal = [(ay - by) / length, (bx - ax) / length],
      bend = edge.bend * (edge.several ? 1 : Math.min(1, length / edge.length));
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
      const at = edge.lines[0].getPointAtLength(edge.lines[0].getTotalLength() * bead.dataset.share);
      put(bead, { cx: at.x, cy: at.y });
    }
    if (edge.label)
      label(
        edge,
        free(edge, [(start[0] + 2 * control[0] + end[0]) / 4, (start[1] + 2 * control[1] + end[1]) / 4], normal),
      );
  }
  /** The offset of a label to the middle of its edge, or next to it if a state or a label is there.
      @param {any} edge @param {Point} middle @param {Point} normal */
  function free(edge, [x, y], [nx, ny]) {
    const states = [...nodes.values()],
      labels = edges.map((each) => each.label).filter((each) => each && each !== edge.label);
    for (let i = 0; i < TRIES; i++) {
      const shift = Math.ceil(i / 2) * STEP * (i % 2 ? 1 : -1) * (edge.bend < 0 ? -1 : 1),
        [cx, cy] = [x + shift * nx, y + shift * ny];
      if ([...states, ...labels].every((other) => !overlap(cx, cy, edge.label, place(other), other)))
        return [cx - edge.label.x, cy - edge.label.y];
    }
    return [x - edge.label.x, y - edge.label.y];
  }

  function settle(id, at) {
    if (!nodes) measure();
    const node = nodes.get(id);
    if (!node) return;
    node.at = at;
    if (moved(at)) offsets.set(names.get(id), at);
    else offsets.delete(names.get(id));
    if (moved(at)) node.group.setAttribute("transform", `translate(${at})`);
    else node.group.removeAttribute("transform");
    if (node.group.nextSibling) node.group.parentNode.append(node.group); // over the edges it is moved across
    for (const edge of edges)
      if (edge.source === node || edge.target === node || edge.ground?.isConnected || covers(node, edge)) redraw(edge);
  }
  const offset = (id) => offsets.get(names.get(id)) ?? NOWHERE;
  /** Move a state by pixels of the screen. */
  function by(id, dx, dy) {
    const unit = svg.getScreenCTM().a,
      [x, y] = offset(id);
    settle(id, [x + dx / unit, y + dy / unit]);
  }

  return {
    /** A picture is shown: the states that were in the one before keep their offsets. */
    open(next, record) {
      svg = machine && next?.matches(".machine:not(.lanes)") ? next : null;
      nodes = edges = null;
      if (!svg) return;
      svg.classList.add("movable");
      names = new Map(record.states.map((each) => [each.id, `${each.id} ${each.label}`]));
      const before = kept.get(machine()) ?? new Map();
      offsets = new Map();
      kept.set(machine(), offsets);
      for (const [id, name] of names) if (before.has(name)) settle(id, before.get(name));
    },
    /** What moves the state under a pointer; null if no movable state is there. */
    grab(target) {
      const node = svg && target.closest?.(".node[data-id]");
      if (!node || !svg.contains(node)) return null;
      const id = node.dataset.id.replace(/^state-/, ""),
        first = offset(id);
      let held = names.has(id);
      const cancel = (event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          event.stopPropagation();
          settle(id, first);
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
          if (held && svg.contains(node)) by(id, dx, dy);
        },
        drop,
      };
    },
    /** Move the picked state with a key; whether it was moved. */
    key(id, name) {
      const to = { ArrowLeft: [-10, 0], ArrowRight: [10, 0], ArrowUp: [0, -10], ArrowDown: [0, 10] }[name];
      if (!svg || !to || !names.has(id)) return false;
      by(id, ...to);
      return true;
    },
    /** Put one state back, or all. */
    reset(id) {
      if (!svg) return;
      for (const [one, name] of names) if (offsets.has(name) && (id === undefined || one === id)) settle(one, NOWHERE);
    },
  };
}

/* A new picture of the same machine: the states in both move from the old position to the new one. */

const LASTS = 200; // milliseconds
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export function createGlide() {
  let running = [],
    request = 0;
  /** Everything moves to its new position immediately. */
  const end = () => {
    for (const each of running) each.cancel();
    running = [];
  };
  /** States and lanes with the point of the screen at which each is. */
  function places(svg) {
    const found = new Map();
    for (const group of svg.querySelectorAll(".node[data-id], .cluster[data-rule]")) {
      const at = (group.querySelector("ellipse, rect, polygon, path") ?? group).getBoundingClientRect();
      found.set(group.dataset.id ?? `lane ${group.dataset.rule}`, {
        group,
        x: at.left + at.width / 2,
        y: at.top + at.height / 2,
      });
    }
    return found;
  }
  return {
    end,
    /** What ``to`` needs of a picture before it is replaced; null where nothing is to move. */
    from: (old) => (old && !calm.matches && !document.hidden && !state.running ? places(old) : null),
    /** Begins with the next frame, so that the camera reads the new places until then. */
    to(svg, before) {
      const mine = requestAnimationFrame(() => {
        if (mine !== request || !svg.isConnected) return;
        const unit = svg.getScreenCTM()?.a;
        if (!unit) return;
        const stays = [...places(svg)].map(([id, now]) => [now, before.get(id)]).filter(([, old]) => old);
        // all animations first: each call reads styles, and a class that changed in between would make it compute
        // them anew
        for (const [{ group, x, y }, old] of stays) {
          const dx = (old.x - x) / unit,
            dy = (old.y - y) / unit;
          if (Math.hypot(dx, dy) > 0.5)
            running.push(
              group.animate({ translate: [`${dx}px ${dy}px`, "0px 0px"] }, { duration: LASTS, easing: "ease-out" }),
            );
        }
        for (const [{ group }, old] of stays) {
          group.classList.add("stays");
          old.group.style.visibility = "hidden";
        }
        svg.classList.add("arriving");
        setTimeout(() => svg.classList.remove("arriving"), LASTS); // an edge that is put elsewhere would fade in again
      });
      request = mine;
    },
  };
}
