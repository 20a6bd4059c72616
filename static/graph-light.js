/* Lights what a run passes in a picture: states, edges, calls and returns. */

import { svgEl } from "./dom.js";
import { markTaken } from "./flags.js";
import { drawReturn, drawWire } from "./graph-lines.js";
import { callId, element, endsOf, labelsOf, lane, numberOf, shownAt } from "./graph-state.js";

/** @import { Graph } from "./graph-state" */
/** @import { ShownStep } from "./picture-state.js" */
/** @import { Flags, Stack } from "./wire" */

/** Light what a run passes. Where a state is inside an edge, the edge is lit for it. @param {Graph} graph */
export function light(
  graph,
  { standing, path, over, mark: effect },
  { also = true, fails = false, step = /** @type {ShownStep | null} */ (null), atEnd = false } = {},
) {
  for (const [found, name] of graph.lit)
    if (name) found.classList.remove(name);
    else found.remove();
  graph.lit = [];
  if (!graph.svg) return null;
  const found =
    standing.map((state, index) => lightState(graph, state, index, also, step, atEnd)).find(Boolean) ?? null;
  graph.overview.mark(found);
  lightWay(graph, path, over, effect);
  if (graph.layer && path.length > 1)
    markTaken(graph.layer, /** @type {Flags} */ (graph.flags), path[path.length - 1], effect);
  const last = path.length > 1 && path[path.length - 1][0];
  if (fails) mark(graph, element(graph, shownAt(graph, last || standing[0])), "fail");
  if (last && last !== standing[0]) {
    const goal = element(graph, shownAt(graph, last));
    if (goal && !goal.classList.contains("now") && goal.matches(".node")) mark(graph, goal, "next");
  }
  const stacks = step?.path?.stacks,
    boxes = (atEnd ? stacks?.[stacks.length - 1] : stacks?.[0])?.boxes;
  if (boxes && graph.svg?.matches(".lanes") && graph.picture.follow === "rules") {
    lightStack(graph, boxes);
    if (!atEnd && stacks && stacks.length > 1) lightReturns(graph, stacks, path);
  }
  return found;
}

/** Light a state; returns the element that shows it. Where it is inside an edge, the edge is lit.
    @param {Graph} graph */
function lightState(graph, state, index, also, step, atEnd) {
  const place = shownAt(graph, state) ?? (index ? null : callOf(graph, step, atEnd)),
    shown = element(graph, place);
  if (!shown || (index && !also)) return null;
  if (!place.startsWith("edge-")) {
    mark(graph, shown, index ? "also" : "now");
    return shown;
  }
  const number = Number(place.slice(5)),
    edge = graph.picture.edges[number];
  markEdge(graph, number);
  if (edge.source !== edge.target) {
    if (!index) bead(graph, number, state);
    return shown;
  }
  // inside a counted loop the current state is the one the loop is drawn at
  const round = element(graph, `state-${edge.source}`);
  mark(graph, round, "now");
  const ring = round?.querySelector("ellipse");
  if (ring && state !== edge.source)
    badge(graph, numberOf(ring, "cx"), numberOf(ring, "cy") + numberOf(ring, "ry") + 11, state);
  return round ?? shown;
}

/** Everything on the way of a token: states, calls, edges. @param {Graph} graph */
function lightWay(graph, path, over, effect) {
  const drawn = [];
  for (const [state] of path) {
    const place = shownAt(graph, state);
    const through = place?.startsWith("edge-") ? graph.picture.edges[Number(place.slice(5))] : null;
    if (through) markEdge(graph, place.slice(5));
    // a rung of a counted loop is left by the edges of the state the loop is drawn at
    const from = !through ? place && state : through.source === through.target ? through.source : null;
    if (from && (!through || from !== drawn[drawn.length - 1])) drawn.push(from);
  }
  for (let i = 0; i + 1 < drawn.length; i++) {
    const index = between(graph, drawn[i], drawn[i + 1], over, effect);
    if (index !== undefined) markEdge(graph, index);
  }
}

/** The calls on the stack: states that wait, and a line from each call to the lane of its rule.
    @param {Graph} graph */
function lightStack(graph, boxes) {
  const drawn = new Set();
  boxes.slice(0, -1).forEach((waiting, index) => {
    const rule = boxes[index + 1].rule,
      id = callId(graph, waiting.state, rule);
    mark(graph, element(graph, `state-${waiting.state}`), "waits");
    const box = element(graph, id && `state-${id}`),
      goal = lane(graph, rule)?.querySelector("rect");
    if (!box) return;
    mark(graph, box, "on");
    if (drawn.has(id)) return;
    drawn.add(id);
    if (!goal || !lane(graph, boxes[index].rule)) return;
    const first = element(
      graph,
      `state-${graph.picture.states.find((one) => one.rule === rule && one.kinds.includes("rule"))?.id}`,
    )?.querySelector("ellipse");
    const end = first ? numberOf(first, "cy") : numberOf(goal, "y") + numberOf(goal, "height") / 2;
    drawWire(
      graph,
      box,
      boxes[index].rule,
      drawn.size,
      numberOf(goal, "x") - 4 - 4 * (drawn.size % 5),
      `V${end}h${9 + 4 * (drawn.size % 5)}`,
      "calling",
    );
  });
}

/** The rules a token leaves: a line from the end of each to the state in which its caller continues.
    @param {Graph} graph @param {Stack[]} stacks before and after the token */
function lightReturns(graph, [before, after], path) {
  const kept = after?.kept;
  if (kept === undefined) return;
  const hidden = before.depth + 1 - before.boxes.length;
  before.boxes.slice(0, -1).forEach((caller, index) => {
    if (index + hidden < kept) return;
    const rule = before.boxes[index + 1].rule,
      passed = path.map(([state]) => state).findLast((state) => endsOf(graph, rule).some((one) => one.id === state));
    for (const line of drawReturn(graph, passed ?? endsOf(graph, rule)[0]?.id, caller.state, index))
      graph.lit.push([line, ""]);
  });
}

/** A bead on an edge, where in a folded chain the run stands. @param {Graph} graph */
function bead(graph, index, state) {
  const line = element(graph, `edge-${index}`)?.querySelector("path"),
    inside = graph.picture.edges[index].inside || [];
  if (!line || !inside.includes(state)) return;
  const share = (inside.indexOf(state) + 1) / (inside.length + 1),
    at = line.getPointAtLength(line.getTotalLength() * share);
  const dot = svgEl("circle", { cx: at.x, cy: at.y, r: 5, class: "bead", "data-share": share });
  line.parentNode?.append(dot);
  graph.lit.push([dot, ""]);
  badge(graph, at.x, at.y + 17, state);
}

/** The number of the current state where it is not drawn itself. @param {Graph} graph */
function badge(graph, x, y, state) {
  const looks = { x, y, class: "badge", "text-anchor": "middle", "font-size": 10 };
  const text = svgEl("text", looks, graph.picture.numbers?.[state] ?? state);
  graph.svg?.querySelector("g").append(text);
  graph.lit.push([text, ""]);
}

/** @param {Graph} graph */
function mark(graph, found, name) {
  if (!found) return;
  found.classList.add(name);
  graph.lit.push([found, name]);
}

/** An edge is marked with its labels; it is drawn over the edges that are not. @param {Graph} graph */
function markEdge(graph, index) {
  const edge = element(graph, `edge-${index}`);
  if (edge && graph.svg?.matches(".lanes")) edge.parentNode?.querySelector(".frame, .label, .node")?.before(edge);
  mark(graph, edge, "gone");
  for (const label of labelsOf(graph, index)) mark(graph, label, "gone");
}

/** Where a rule that has no lane is being read: the box of its call. @param {Graph} graph */
function callOf(graph, step, atEnd) {
  const stacks = step?.path?.stacks,
    boxes = (atEnd ? stacks?.[stacks.length - 1] : stacks?.[0])?.boxes;
  if (!boxes || boxes.length < 2) return null;
  const id = callId(graph, boxes[boxes.length - 2].state, boxes[boxes.length - 1].rule);
  return id ? `state-${id}` : null;
}

/** The edge between two states: of several the one for tokens that pass over others or do not, and that do the same
      to the stack. @param {Graph} graph */
function between(graph, source, target, over, effect) {
  const found = graph.picture.edges
    .map((edge, index) => ({ ...edge, index }))
    .filter((edge) => edge.source === source && edge.target === target);
  const rank = (edge) =>
    (edge.kinds?.includes("skip") === over ? 0 : 1) +
    (edge.kinds?.includes("bytes") ? 2 : 0) +
    (edge.mark && edge.mark !== effect ? 4 : 0);
  return found.sort((a, b) => rank(a) - rank(b))[0]?.index;
}
