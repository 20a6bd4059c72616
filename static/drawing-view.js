/* Shows a drawn machine: its elements, the buttons of what is selected, and the part that is seen. */

import { createButton, el } from "./dom.js";
import { elementsOf } from "./drawing-parts.js";
import {
  describe,
  focusSelected,
  MOST_EDGES,
  MOST_STATES,
  partKey,
  placeOf,
  problemsOf,
  stateNamed,
  toScreen,
  toWorld,
} from "./drawing-state.js";

/** @import { Drawing, Lit } from "./drawing-state" */

const BEGIN = "Double-click adds a state. Drag from its rim to draw an edge.";
const SIZES = `Machines of up to ${MOST_STATES} states and ${MOST_EDGES} edges are drawn.`;
const TOO_LARGE = `${SIZES} This one is edited as text.`;

/** @param {Drawing} drawing */
export function render(drawing) {
  const { model, world, svg, view, tool, tooLarge, shapes, lit, linking, places } = drawing;
  const inside = world.contains(document.activeElement);
  world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
  svg.style.backgroundPosition = `${view.x}px ${view.y}px`;
  svg.style.backgroundSize = `${20 * view.k}px ${20 * view.k}px`;
  const words = { describe: (part) => describe(drawing, part), problemsOf: (part) => problemsOf(drawing, part) };
  patch(drawing, elementsOf({ model, shapes, selected: partKey(drawing.selected), ...words, lit, linking, places }));
  if (inside && !world.contains(document.activeElement)) focusSelected(drawing);
  drawing.empty.hidden = model.states.size > 0;
  drawing.empty.textContent = tooLarge ? TOO_LARGE : BEGIN;
  drawing.canvas.inert = tooLarge;
  for (const button of [tool.add, tool.edge, tool.arrange, tool.fit, tool.step]) button.disabled = tooLarge;
  tool.undo.disabled = !drawing.past.length;
  tool.redo.disabled = !drawing.future.length;
  showChosen(drawing);
  drawing.listed.replaceChildren(
    ...[...model.states.keys()].map((state) => el("li", describe(drawing, { state }))),
    ...model.edges.map((_, edge) => el("li", describe(drawing, { edge }))),
  );
}

/** Put new elements in the places of those that differ: one that stays keeps the focus. @param {Drawing} drawing */
function patch(drawing, fresh) {
  const old = [...drawing.world.children];
  if (old.length !== fresh.length) drawing.world.replaceChildren(...fresh);
  else
    fresh.forEach((one, at) => {
      if (!old[at].isEqualNode(one)) old[at].replaceWith(one);
    });
}

/** What is selected, with a button for each of its commands (``runCommand`` of ``drawing-edits.js``).
    @param {Drawing} drawing */
function showChosen(drawing) {
  const { about, selected, model } = drawing;
  about.hidden = !selected || Boolean(drawing.drag?.moving) || drawing.field.isOpen() || drawing.stepper.isOpen();
  if (about.hidden || !selected) return;
  const command = (name, label, title, more = {}) => act(label, title, null, { "data-command": name, ...more });
  const remover = command("remove", "Delete", "Delete (Delete key)");
  const why = problemsOf(drawing, selected).map(({ message }) => el("p.problem", message));
  if (selected.state !== undefined) {
    const state = stateNamed(drawing, selected.state);
    const toggler = (word, label) =>
      command(word, label, `${label} state (${label[0]})`, { "aria-pressed": String(state[word]) });
    const toggles = [toggler("initial", "Initial"), toggler("final", "Final")];
    about.replaceChildren(el("b", state.name), ...toggles, command("edit", "Rename", "Rename (F2)"), remover, ...why);
  } else {
    const { source, target } = model.edges[selected.edge];
    const edit = command("edit", "Label", "Edit the label (Enter)");
    about.replaceChildren(el("b", `${source} → ${target}`), edit, remover, ...why);
  }
}

/** A button with a label and a title. */
export const act = (label, title, run, more = {}) => createButton(label, { title, ...more }, run);

/** @param {Drawing} drawing */
export function fit(drawing) {
  const rect = drawing.canvas.getBoundingClientRect();
  if (!rect.width) return;
  const { x, y, w, h } = drawing.shapes.bounds;
  const k = Math.min(1.25, (rect.width - 24) / w, (rect.height - 24) / h);
  drawing.view = { k, x: rect.width / 2 - k * (x + w / 2), y: rect.height / 2 - k * (y + h / 2) };
  render(drawing);
}

/** @param {Drawing} drawing */
export function zoom(drawing, by, around) {
  const k = Math.min(3, Math.max(0.2, drawing.view.k * by));
  const at = toWorld(drawing, around);
  drawing.view = { k, x: around.x - k * at.x, y: around.y - k * at.y };
  render(drawing);
}

/** Bring a state into view. @param {Drawing} drawing */
export function reveal(drawing, name) {
  const rect = drawing.canvas.getBoundingClientRect(),
    at = toScreen(drawing, placeOf(drawing, name)),
    margin = 60;
  if (at.x < margin || at.y < margin || at.x > rect.width - margin || at.y > rect.height - margin) fit(drawing);
}

/** @param {Drawing} drawing */
export function select(drawing, part, { focus = true } = {}) {
  drawing.selected = part;
  render(drawing);
  if (focus) focusSelected(drawing);
}

/** @param {Drawing} drawing @param {Lit | null} path */
export function light(drawing, path) {
  drawing.lit = path;
  render(drawing);
}
