/* Draws a machine with the keyboard alone. */

import { targetOf, useUp } from "./dom.js";
import { addState, connect, move, redo, runCommand, undo } from "./drawing-edits.js";
import { focusSelected, GRID, partKey, placeOf, say } from "./drawing-state.js";
import { fit, render, reveal, select, zoom } from "./drawing-view.js";

/** @import { Drawing, Linking } from "./drawing-state" */

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The next state in a direction, seen from another; without one the first. @param {Drawing} drawing */
function neighbour(drawing, name, [dx, dy]) {
  const from = drawing.places.get(name);
  if (!from) return drawing.places.keys().next().value;
  let best = /** @type {string | null} */ (null),
    least = Infinity;
  for (const [other, place] of drawing.places) {
    const along = (place.x - from.x) * dx + (place.y - from.y) * dy,
      across = Math.abs((place.x - from.x) * dy) + Math.abs((place.y - from.y) * dx);
    if (other === name || along <= 0) continue;
    if (along + 2 * across < least) [best, least] = [other, along + 2 * across];
  }
  return best;
}

/** Keys while the target of an edge is chosen. @param {Drawing} drawing @param {Linking} linking
    @param {KeyboardEvent} event */
function chooseTarget(drawing, linking, event) {
  const arrow = ARROWS[event.key];
  if (event.key === "Escape") drawing.linking = null;
  else if (event.key === "Enter") return connect(drawing, linking.from, linking.to ?? linking.from);
  else if (arrow) {
    linking.to = neighbour(drawing, linking.to ?? linking.from, arrow) ?? linking.to;
    linking.typed = "";
  } else if (event.key.length === 1) {
    const typed = linking.typed + event.key;
    const found = [...drawing.model.states.keys()].find((name) => name.toLowerCase().startsWith(typed.toLowerCase()));
    if (found) [linking.to, linking.typed] = [found, typed];
  } else return false;
  say(drawing, drawing.linking ? `to ${linking.to ?? linking.from}; Enter draws the edge` : "no edge");
  render(drawing);
  return true;
}

/** @param {Drawing} drawing */
function pressKey(drawing, event) {
  const arrow = ARROWS[event.key];
  if (drawing.linking && !drawing.drag) return chooseTarget(drawing, drawing.linking, event);
  if (arrow && event.altKey && drawing.selected?.state) {
    const { x, y } = placeOf(drawing, drawing.selected.state);
    return move(drawing, drawing.selected.state, { x: x + GRID * arrow[0], y: y + GRID * arrow[1] });
  }
  if (event.altKey) return Boolean(arrow); // the page would scroll
  if (arrow) {
    const { selected, model } = drawing,
      edge = selected?.edge === undefined ? null : model.edges[selected.edge];
    const next = neighbour(drawing, selected?.state ?? edge?.source ?? "", arrow) ?? edge?.target;
    if (next) {
      select(drawing, { state: next });
      reveal(drawing, next);
    }
    return true;
  }
  const keys = {
    n: () => {
      addState(drawing);
      focusSelected(drawing);
    },
    e: () => {
      const from = drawing.selected?.state ?? drawing.model.states.keys().next().value;
      if (!from) return;
      if (!drawing.selected?.state) select(drawing, { state: from });
      drawing.linking = { from, to: null, at: null, typed: "" };
      say(drawing, `an edge from ${from}: arrows or letters choose its target`);
      render(drawing);
    },
    i: () => runCommand(drawing, "initial"),
    f: () => runCommand(drawing, "final"),
    Delete: () => runCommand(drawing, "remove"),
    Backspace: () => runCommand(drawing, "remove"),
    F2: () => runCommand(drawing, "edit"),
    Enter: () => runCommand(drawing, "edit"),
    " ": () => {},
    "+": () => zoom(drawing, 1.25, middle(drawing)),
    "-": () => zoom(drawing, 0.8, middle(drawing)),
    0: () => fit(drawing),
    Escape: () => {
      select(drawing, null, { focus: false });
      drawing.canvas.focus({ preventScroll: true });
    },
  };
  const run = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!run) return event.key.length === 1 && event.key !== "?";
  run();
  return true;
}

/** @param {Drawing} drawing */
const middle = (drawing) => ({ x: drawing.canvas.clientWidth / 2, y: drawing.canvas.clientHeight / 2 });

/** Undo and redo, wherever the focus is in the drawing or its text; whether the key was one of them.
    @param {Drawing} drawing */
export function undoKey(drawing, event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return false;
  const key = event.key.toLowerCase();
  if (key === "z") (event.shiftKey ? redo : undo)(drawing);
  else if (key === "y") redo(drawing);
  else return false;
  event.preventDefault();
  return true;
}

/** @param {Drawing} drawing @param {HTMLElement} box with the drawing and its bar */
export function listenToKeys(drawing, box) {
  const { canvas, world } = drawing;
  canvas.addEventListener("keydown", (event) => {
    if (event.target !== canvas && !world.contains(targetOf(event))) return;
    if (event.ctrlKey || event.metaKey) return;
    if (pressKey(drawing, event) === false) return;
    useUp(event); // letters are keys of the page too
  });
  box.addEventListener("keydown", (event) => {
    if (!targetOf(event).matches("input")) undoKey(drawing, event);
  });
  world.addEventListener("focusin", (event) => {
    const [kind, ...name] = (targetOf(event).closest("[data-part]")?.dataset.part ?? "").split(" ");
    const part = kind === "state" ? { state: name.join(" ") } : kind ? { edge: Number(name[0]) } : null;
    if (!part || partKey(part) === partKey(drawing.selected) || drawing.drag) return;
    select(drawing, part);
  });
}
