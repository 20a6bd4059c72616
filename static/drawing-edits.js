/* The edits of a drawn machine: each changes its text, and one undo takes it back. */

import { showNotice } from "./dom.js";
import {
  describe,
  hasPlaces,
  layOut,
  MOST_EDGES,
  MOST_STATES,
  placeOf,
  say,
  snap,
  stateNamed,
  toScreen,
  toWorld,
} from "./drawing-state.js";
import { fit, render, reveal, select } from "./drawing-view.js";
import { filled } from "./machine-shapes.js";
import {
  freeName,
  isName,
  labelled,
  marked,
  placed,
  readMachine,
  renamed,
  withEdge,
  withoutEdge,
  withoutState,
} from "./machine-text.js";

/** @import { Drawing } from "./drawing-state" */

const TYPING = 900; // milliseconds of typing that one undo takes back

/** @param {Drawing} drawing */
function remember(drawing, before) {
  drawing.past.push(before);
  drawing.future = [];
}

/** @param {Drawing} drawing */
function readText(drawing, next) {
  drawing.text = next;
  drawing.model = readMachine(drawing.text);
  drawing.tooLarge = drawing.model.states.size > MOST_STATES || drawing.model.edges.length > MOST_EDGES;
  if (drawing.tooLarge) drawing.model = readMachine("");
  drawing.lit = null; // a path through another machine
  if (drawing.selected?.state && !drawing.model.states.has(drawing.selected.state)) drawing.selected = null;
  if ((drawing.selected?.edge ?? -1) >= drawing.model.edges.length) drawing.selected = null;
  layOut(drawing);
}

/** A change that the author draws: the text gets the places of all states, so that none is lost or moves.
    @param {Drawing} drawing */
function change(drawing, next, chosen = drawing.selected, joined = false) {
  const before = drawing.text;
  const after = readMachine(next);
  const open = new Map();
  for (const { name, place } of after.states.values())
    if (!place) open.set(name, drawing.places.get(name) ?? filled(after, drawing.known).get(name));
  for (const name of drawing.model.states.keys()) // a state that only the removed line named
    if (!after.states.has(name) && chosen !== null && drawing.places.has(name))
      open.set(name, drawing.places.get(name));
  commit(drawing, before, placed(next, open), chosen, joined);
}

/** ``joined``: one undo takes this change back together with the one before. @param {Drawing} drawing */
function commit(drawing, before, after, chosen, joined = false) {
  if (after === before) return;
  if (!joined) remember(drawing, before);
  drawing.typedAt = 0;
  drawing.selected = chosen;
  readText(drawing, after);
  drawing.stepper.forget();
  render(drawing);
  drawing.write(drawing.text);
}

/** @param {Drawing} drawing */
export const undo = (drawing) => restore(drawing, drawing.past, drawing.future);

/** @param {Drawing} drawing */
export const redo = (drawing) => restore(drawing, drawing.future, drawing.past);

/** @param {Drawing} drawing @param {string[]} texts the last of which is taken @param {string[]} others */
function restore(drawing, texts, others) {
  if (!texts.length) return;
  others.push(drawing.text);
  drawing.field.close();
  drawing.typedAt = 0;
  readText(drawing, texts.pop());
  drawing.stepper.forget();
  render(drawing);
  drawing.write(drawing.text);
}

/** @param {Drawing} drawing */
export function addState(drawing, at = null) {
  const name = freeName(drawing.model);
  const first = !drawing.model.states.size;
  const spot = at ?? freeSpot(drawing);
  let next = placed(drawing.text, new Map([[name, { x: snap(spot.x), y: snap(spot.y) }]]));
  if (first) next = marked(next, name, "initial", true);
  change(drawing, next, { state: name });
  if (!at) reveal(drawing, name);
  say(drawing, `state ${name} added`);
  return name;
}

/** Where a free place is looked for, in steps of 100 from a point. */
// biome-ignore format: one line is read at a glance
const SPOTS = [[0, 0], [0, 1], [0, -1], [1, 0], [1, 1], [-1, 1]];

/** A free place for a state: near the selected one, or in the middle of what is seen. @param {Drawing} drawing */
function freeSpot(drawing) {
  const rect = drawing.canvas.getBoundingClientRect();
  const near = drawing.selected?.state && drawing.places.get(drawing.selected.state);
  const from = near ? { x: near.x + 120, y: near.y } : toWorld(drawing, { x: rect.width / 2, y: rect.height / 2 });
  for (let ring = 0; ring < 30; ring++)
    for (const [dx, dy] of SPOTS) {
      const spot = { x: from.x + dx * 100 * (ring + 1), y: from.y + dy * 100 * (ring + 1) };
      if ([...drawing.places.values()].every((other) => Math.hypot(other.x - spot.x, other.y - spot.y) > 70))
        return spot;
    }
  return from;
}

/** @param {Drawing} drawing */
export function connect(drawing, source, target) {
  const there = drawing.model.edges.findLastIndex((edge) => edge.source === source && edge.target === target);
  drawing.linking = null;
  if (there >= 0) {
    select(drawing, { edge: there });
    editLabel(drawing, there, `${drawing.model.edges[there].label}, `);
    return;
  }
  const next = withEdge(drawing.text, source, target, "");
  const { edges } = readMachine(next);
  const added = edges.findLastIndex((edge) => edge.source === source && edge.target === target);
  const edge = added < 0 ? edges.length - 1 : added;
  change(drawing, next, { edge });
  editLabel(drawing, edge, "", true);
}

/** @param {Drawing} drawing */
export function toggle(drawing, word) {
  if (!drawing.selected?.state) return;
  const state = stateNamed(drawing, drawing.selected.state);
  change(drawing, marked(drawing.text, state.name, word, !state[word]));
  say(drawing, `${state.name} is ${state[word] ? "no longer " : ""}${word}`);
}

/** @param {Drawing} drawing */
export function remove(drawing) {
  if (!drawing.selected) return;
  const what = describe(drawing, drawing.selected);
  if (drawing.selected.state !== undefined) change(drawing, withoutState(drawing.text, drawing.selected.state), null);
  else {
    const { source } = drawing.model.edges[drawing.selected.edge];
    change(drawing, withoutEdge(drawing.text, drawing.selected.edge), { state: source });
  }
  say(drawing, `${what} removed`);
  if (!drawing.selected) drawing.canvas.focus({ preventScroll: true });
}

/** @param {Drawing} drawing */
export function editLabel(drawing, index, written = drawing.model.edges[index].label, isNew = false) {
  const label = drawing.shapes.ways.flatMap((way) => way.labels).find((one) => one.edge === index);
  const shown = written === "ε" ? "" : written;
  drawing.field.open(
    toScreen(drawing, label),
    shown,
    "What the edge reads, items separated by commas; empty for ε",
    (value) => {
      if (value !== null) change(drawing, labelled(drawing.text, index, value), { edge: index }, isNew);
      select(drawing, { edge: index });
    },
  );
}

/** @param {Drawing} drawing */
export function rename(drawing, name) {
  drawing.field.open(toScreen(drawing, placeOf(drawing, name)), name, "The name of the state", (value) => {
    const other = value?.trim();
    if (other && other !== name) {
      if (!isName(other)) showNotice("A name has letters, digits, _ and '.");
      else if (drawing.model.states.has(other)) showNotice(`There is a state ${other} already.`);
      else {
        drawing.known.set(other, placeOf(drawing, name));
        commit(drawing, drawing.text, renamed(drawing.text, name, other), { state: other });
      }
    }
    select(drawing, { state: drawing.model.states.has(other) && isName(other ?? "") ? other : name });
  });
}

/** @param {Drawing} drawing */
export function move(drawing, name, to) {
  change(drawing, placed(drawing.text, new Map([[name, to]])), { state: name });
}

/** @param {Drawing} drawing */
export const arrange = (drawing, drawn) =>
  drawing.arranging.run(async (ask) => {
    const answer = await ask(drawing.server.arrange_machine, { text: drawing.text });
    if (answer.ok) placeStates(drawing, answer, drawn);
    else if (drawn) showNotice(answer.why);
  });

/** @param {Drawing} drawing */
function placeStates(drawing, answer, drawn) {
  const found = new Map(answer.places.map(({ name, x, y }) => [name, { x, y }]));
  if (drawn) change(drawing, placed(drawing.text, found));
  else for (const [name, at] of found) drawing.known.set(name, at);
  layOut(drawing);
  fit(drawing);
  render(drawing);
}

/** @param {Drawing} drawing */
export function setEdgeMode(drawing, wanted) {
  drawing.edgeMode = wanted;
  drawing.linking = null;
  drawing.tool.edge.setAttribute("aria-pressed", String(wanted));
  drawing.canvas.classList.toggle("edges", wanted);
  render(drawing);
}

/** Take a text that was opened or typed elsewhere. @param {Drawing} drawing */
export function show(drawing, next, { typed = false } = {}) {
  if (next === drawing.text) return;
  const now = performance.now(),
    had = hasPlaces(drawing);
  drawing.field.close();
  if (!typed) [drawing.past, drawing.future] = [[], []];
  else if (now - drawing.typedAt > TYPING || !drawing.past.length) remember(drawing, drawing.text);
  drawing.typedAt = typed ? now : 0;
  readText(drawing, next);
  if (!typed || (had && !hasPlaces(drawing))) {
    // another machine
    [drawing.selected, drawing.linking] = [null, null];
    drawing.known.clear();
    if (drawing.model.states.size && !hasPlaces(drawing)) arrange(drawing, false);
    layOut(drawing);
    fit(drawing);
  }
  drawing.stepper.forget();
  render(drawing);
}

/** The command of a button or a key on what is selected. @param {Drawing} drawing @param {string} name */
export function runCommand(drawing, name) {
  const { selected } = drawing;
  if (name === "remove") remove(drawing);
  else if (name === "edit" && selected?.state) rename(drawing, selected.state);
  else if (name === "edit" && selected) editLabel(drawing, selected.edge);
  else if (name === "initial" || name === "final") toggle(drawing, name);
}
