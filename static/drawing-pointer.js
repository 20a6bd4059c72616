/* Draws a machine with the mouse or with fingers: states are dragged, edges are drawn from their rims. */

import { targetOf } from "./dom.js";
import { addState, connect, editLabel, move, toggle } from "./drawing-edits.js";
import { layOut, placeOf, pointOf, snap, toWorld } from "./drawing-state.js";
import { render, select } from "./drawing-view.js";
import { radiusOf, shapesOf } from "./machine-shapes.js";

/** @import { Drag, Drawing, Point } from "./drawing-state" */

const MOVED = 4; // pixels after which a press is a drag
const NEAR = 12; // pixels between two clicks that are one double click
const SOON = 400; // and milliseconds
const RIM = 8; // half the width of the rim from which edges are drawn

/** @param {Drawing} drawing */
const stateAt = (drawing, at) =>
  [...drawing.places].findLast(
    ([name, place]) => Math.hypot(at.x - place.x, at.y - place.y) <= radiusOf(name) + RIM,
  )?.[0];

/** @param {Drawing} drawing */
const onRim = (drawing, name, at) => {
  const place = placeOf(drawing, name);
  return Math.hypot(at.x - place.x, at.y - place.y) > radiusOf(name) - RIM + 1;
};

/** @param {Drawing} drawing */
function finishLink(drawing, from, at) {
  const target = stateAt(drawing, at);
  drawing.linking = null;
  if (target) connect(drawing, from, target);
  else {
    connect(drawing, from, addState(drawing, at));
  }
}

/** @param {Drawing} drawing */
function tap(drawing, event, name, part, at) {
  const now = performance.now(),
    what = name || part;
  const twice =
    now - drawing.lastTap.time < SOON &&
    Math.hypot(event.clientX - drawing.lastTap.x, event.clientY - drawing.lastTap.y) < NEAR &&
    drawing.lastTap.what === what;
  drawing.lastTap = { time: twice ? 0 : now, x: event.clientX, y: event.clientY, what };
  if (drawing.linking && name) return connect(drawing, drawing.linking.from, name);
  drawing.linking = null;
  if (name && drawing.edgeMode) {
    drawing.linking = { from: name, to: null, at: null, typed: "" };
    return select(drawing, { state: name });
  }
  if (name) {
    select(drawing, { state: name });
    if (twice) toggle(drawing, "final");
  } else if (part.startsWith("edge ")) {
    const edge = Number(part.slice(5));
    const again = drawing.selected?.edge === edge;
    select(drawing, { edge });
    if (again || targetOf(event).closest(".lb")) editLabel(drawing, edge);
  } else {
    select(drawing, null, { focus: false });
    drawing.canvas.focus({ preventScroll: true });
    if (twice) addState(drawing, at);
  }
}

/** @param {Drawing} drawing @param {PointerEvent} event */
function press(drawing, event) {
  if (event.button) return;
  const screen = pointOf(drawing, event),
    at = toWorld(drawing, screen),
    part = targetOf(event).closest("[data-part]")?.dataset.part ?? "",
    name = stateAt(drawing, at) ?? "";
  drawing.field.close();
  const links = Boolean(name) && (drawing.edgeMode || event.shiftKey || onRim(drawing, name, at));
  drawing.drag = { screen, view: drawing.view, part, name, at, moving: false, links, from: null, to: null };
  drawing.svg.setPointerCapture(event.pointerId);
  event.preventDefault();
}

/** @param {Drawing} drawing @param {PointerEvent} event */
function movePointer(drawing, event) {
  const screen = pointOf(drawing, event),
    at = toWorld(drawing, screen),
    { drag } = drawing;
  if (!drag) {
    const name = stateAt(drawing, at);
    drawing.svg.classList.toggle("linking", Boolean(name) && (drawing.edgeMode || onRim(drawing, name, at)));
    return;
  }
  const way = { x: screen.x - drag.screen.x, y: screen.y - drag.screen.y };
  if (!drag.moving && Math.hypot(way.x, way.y) < MOVED) return;
  drag.moving = true;
  if (drag.links) drawing.linking = { from: drag.name, to: stateAt(drawing, at) ?? null, at, typed: "" };
  else if (drag.name) dragState(drawing, drag, at, !event.altKey);
  else drawing.view = { ...drawing.view, x: drag.view.x + way.x, y: drag.view.y + way.y };
  render(drawing);
}

/** @param {Drawing} drawing @param {Drag} drag @param {Point} at @param {boolean} onGrid */
function dragState(drawing, drag, at, onGrid) {
  drag.from ??= placeOf(drawing, drag.name);
  const to = { x: drag.from.x + at.x - drag.at.x, y: drag.from.y + at.y - drag.at.y };
  drag.to = onGrid ? { x: snap(to.x), y: snap(to.y) } : to;
  drawing.places.set(drag.name, drag.to);
  drawing.shapes = shapesOf(drawing.model, drawing.places);
}

/** @param {Drawing} drawing @param {PointerEvent} event */
function release(drawing, event) {
  if (!drawing.drag) return;
  const { moving, links, name, to, part } = drawing.drag,
    at = toWorld(drawing, pointOf(drawing, event));
  drawing.drag = null;
  if (moving && links) finishLink(drawing, name, at);
  else if (moving && name) move(drawing, name, to);
  else if (!moving) tap(drawing, event, name, part, at);
  render(drawing);
}

/** @param {Drawing} drawing */
export function listenToPointer(drawing) {
  const { svg } = drawing;
  svg.addEventListener("pointerdown", (event) => press(drawing, event));
  svg.addEventListener("pointermove", (event) => movePointer(drawing, event));
  svg.addEventListener("pointerup", (event) => release(drawing, event));
  svg.addEventListener("pointercancel", () => {
    [drawing.drag, drawing.linking] = [null, null];
    layOut(drawing);
    render(drawing);
  });
}
