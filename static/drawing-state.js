/* The state of a drawn machine: its text, what is selected, dragged and seen, and the elements that show it. */

import { createLatest } from "./ask.js";
import { filled, shapesOf } from "./machine-shapes.js";
import { readMachine } from "./machine-text.js";

/** @import { LabelField, Stepper } from "./drawing-parts" */
/** @import { Server } from "./wire" */

/** @typedef {{ x: number, y: number }} Point
    @typedef {{ state: string, edge?: undefined } | { state?: undefined, edge: number }} Part a state by its name or an
      edge by its index
    @typedef {{ from: string, to: string | null, at: Point | null, typed: string }} Linking an edge while it is drawn
    @typedef {{ screen: Point, view: Point, part: string, name: string, at: Point, moving: boolean, links: boolean,
      from: Point | null, to: Point | null }} Drag from where the pointer was pressed, and whether it draws an edge
    @typedef {{ from: number, to: number, severity: string, message: string }} Problem
    @typedef {{ states: string[], edges: number[], inside: number[] }} Lit a path through the machine
    @typedef {ReturnType<typeof createState>} Drawing */

export const MOST_STATES = 100; // of a machine that is drawn
export const MOST_EDGES = 300;
export const GRID = 10;

/** A drawing without states. ``write`` gets the text after a change.
    @param {Server} server @param {(text: string) => void} write
    @param {Record<string, HTMLButtonElement>} tool the buttons of its bar
    @param {{ canvas: HTMLElement, svg: SVGElement, world: SVGElement, about: HTMLElement, empty: HTMLElement,
      listed: HTMLElement, aloud: HTMLElement }} elements @param {LabelField} field
    @param {Stepper} stepper */
export function createState(server, write, tool, elements, field, stepper) {
  const model = readMachine(""),
    places = /** @type {Map<string, Point>} */ (new Map());
  const drawing = {
    server,
    write,
    tool,
    ...elements,
    field,
    stepper,
    arranging: createLatest({ subject: () => drawing.text }),
    text: "",
    model,
    places, // where each state is shown
    known: /** @type {Map<string, Point>} */ (new Map()), // positions that are not in the text
    shapes: shapesOf(model, places),
    selected: /** @type {Part | null} */ (null),
    linking: /** @type {Linking | null} */ (null),
    drag: /** @type {Drag | null} */ (null),
    lastTap: { time: 0, x: 0, y: 0, what: "" },
    edgeMode: false,
    tooLarge: false, // then the text alone can be edited
    problems: /** @type {(Problem & { part: Part })[]} */ ([]),
    lit: /** @type {Lit | null} */ (null),
    past: /** @type {string[]} */ ([]),
    future: /** @type {string[]} */ ([]),
    typedAt: 0,
    view: { x: 0, y: 0, k: 1 },
  };
  return drawing;
}

export const snap = (value) => Math.round(value / GRID) * GRID;

/** @param {Drawing} drawing */
export const hasPlaces = (drawing) => [...drawing.model.states.values()].some((state) => state.place);

/** @param {Drawing} drawing */
export function layOut(drawing) {
  drawing.places = filled(drawing.model, drawing.known);
  drawing.shapes = shapesOf(drawing.model, drawing.places);
}

/** @param {Drawing} drawing */
export function stateNamed(drawing, name) {
  const found = drawing.model.states.get(name);
  if (!found) throw new Error(`the drawing has no state ${name}`);
  return found;
}

/** Where a state is shown. @param {Drawing} drawing @param {string} name */
export const placeOf = (drawing, name) => drawing.places.get(name) ?? { x: 0, y: 0 };

export const partKey = (part) => (part?.state ? `state ${part.state}` : part ? `edge ${part.edge}` : "");

/** @param {Drawing} drawing */
export const problemsOf = (drawing, part) => drawing.problems.filter((one) => partKey(one.part) === partKey(part));

/** @param {Drawing} drawing */
export function describe(drawing, part) {
  if (part.state) {
    const { name, initial, final } = stateNamed(drawing, part.state);
    return ["state", name].join(" ") + (initial ? ", initial" : "") + (final ? ", final" : "");
  }
  const { source, target, label } = drawing.model.edges[part.edge];
  return `edge from ${source} to ${target} that reads ${label || "ε"}`;
}

/** @param {Drawing} drawing */
export const say = (drawing, words) => {
  drawing.aloud.textContent = words;
};

/** @param {Drawing} drawing */
export const toScreen = (drawing, { x, y }) => ({
  x: drawing.view.x + drawing.view.k * x,
  y: drawing.view.y + drawing.view.k * y,
});

/** @param {Drawing} drawing */
export const toWorld = (drawing, { x, y }) => ({
  x: (x - drawing.view.x) / drawing.view.k,
  y: (y - drawing.view.y) / drawing.view.k,
});

/** @param {Drawing} drawing */
export const pointOf = (drawing, event) => {
  const rect = drawing.svg.getBoundingClientRect();
  return { x: event.clientX - rect.left, y: event.clientY - rect.top };
};

/** @param {Drawing} drawing */
const elementOf = (drawing, part) =>
  [...drawing.world.querySelectorAll(".st, .lb")].find((one) => one.dataset.part === partKey(part));

/** @param {Drawing} drawing */
export function focusSelected(drawing) {
  (elementOf(drawing, drawing.selected) ?? drawing.canvas).focus({ preventScroll: true });
}
