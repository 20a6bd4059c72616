/* Lines over the lanes of a picture: from a call to the lane of its rule, and from the end of a rule to its callers. */

import { svgEl } from "./dom.js";
import { element, lane, numberOf } from "./graph-state.js";

/** @import { Graph } from "./graph-state" */

/** The line of a return: from a state where a rule ends to one in which a caller continues. @param {Graph} graph */
export function drawReturn(graph, from, to, order) {
  const end = element(graph, `state-${from}`),
    goal = element(graph, `state-${to}`)?.querySelector("ellipse"),
    ruleOf = (id) => graph.picture.states.find((one) => one.id === id)?.rule;
  const frame = lane(graph, ruleOf(to))?.querySelector("rect");
  if (!end?.querySelector("ellipse") || !goal || !frame) return [];
  const x = numberOf(goal, "cx"),
    y = numberOf(goal, "cy") - numberOf(goal, "ry") - 2,
    channel = numberOf(frame, "y") - 2 - 2 * (order % 4);
  return [
    drawWire(
      graph,
      end,
      ruleOf(from),
      order,
      numberOf(frame, "x") - 4 - 4 * (order % 5),
      `V${channel}H${x}V${y}`,
      "returning",
    ),
  ];
}

/** A line over the lanes: down from an element to the channel below its lane, along the margin, and on.
    @param {Graph} graph */
export function drawWire(graph, shown, rule, order, column, rest, kind) {
  const home = lane(graph, rule)?.querySelector("rect"),
    shape = shown.querySelector("rect, ellipse"),
    round = shape.matches("ellipse");
  const x = round ? numberOf(shape, "cx") : numberOf(shape, "x") + numberOf(shape, "width") / 2;
  const y = round ? numberOf(shape, "cy") + numberOf(shape, "ry") : numberOf(shape, "y") + numberOf(shape, "height");
  const channel = numberOf(home, "y") + numberOf(home, "height") + 2 + 2 * (order % 4);
  const tip = kind === "calling" ? "m-6 -3.2l6 3.2l-6 3.2" : "m-3.2 -6l3.2 6l3.2 -6";
  const line = svgEl("path", { d: `M${x} ${y}V${channel}H${column}${rest}${tip}`, class: kind });
  graph.svg?.querySelector("g").append(line);
  return line;
}
