/* The state of a picture that reacts: its record, its elements, and what is selected and lit. */

/** @import { createCamera } from "./camera.js" */
/** @import { createDrag } from "./drag.js" */
/** @import { createGlide } from "./glide.js" */
/** @import { createOverview } from "./overview.js" */
/** @import { Flags, FlagSegment, Picture } from "./wire" */

/** @type {Picture} */
export const NO_PICTURE = {
  ok: true,
  count: "",
  partial: false,
  note: "",
  where: {},
  follow: null,
  names: {},
  ends: false,
  states: [],
  edges: [],
};

/** ``layer``: the flags as drawn; ``lit``: elements with the class that marks them, those without one were added;
    ``hovered``: lines that were added for the state under the pointer.
    @typedef {{
      canvas: HTMLElement, prefix: string, picture: Picture, svg: SVGSVGElement | null, chosen: string | null,
      lit: [Element, string][], flags: Flags | null, layer: Element | null, drag: ReturnType<typeof createDrag>,
      glide: ReturnType<typeof createGlide>, overview: ReturnType<typeof createOverview>,
      camera: ReturnType<typeof createCamera>, hovered: Element[], box: HTMLElement,
      picked: (state: string | null) => void, pickedEdge: (index: number) => void,
      pickedFlag: (segment: FlagSegment) => void,
      machine: (() => string) | null,
    }} Graph */

/** @param {Graph} graph */
export const element = (graph, id) =>
  /** @type {SVGGElement | null} */ (id ? graph.canvas.querySelector(`#${CSS.escape(graph.prefix + id)}`) : null);

/** @param {Graph} graph */
export const shownAt = (graph, state) => graph.picture?.where[state];

export const stateOf = (node) => node.dataset.id.replace(/^state-/, "");

export const edgeOf = (group) => Number(group.dataset.id?.slice(5) ?? -1);

/** The edges whose label this is; a label may belong to several. */
export const edgesOf = (group) => (group.dataset.edges ?? "-1").split(" ").map(Number);

/** @param {Graph} graph @returns {NodeListOf<SVGGElement>} */
export const labelsOf = (graph, index) => graph.canvas.querySelectorAll(`[data-edges~="${index}"]`);

/** @param {Graph} graph */
export const lane = (graph, name) =>
  name ? graph.canvas.querySelector(`.cluster[data-rule="${CSS.escape(name)}"]`) : null;

export const numberOf = (one, name) => Number(one.getAttribute(name));

/** @param {Graph} graph */
export const callId = (graph, back, rule) =>
  graph.picture.states.find(
    (one) => one.id.startsWith("call-") && one.id.endsWith(`-${back}`) && one.label === `→ ${rule}`,
  )?.id;

/** The drawn calls of a rule, each with the state in which its caller continues. @param {Graph} graph */
export const callsOf = (graph, rule) =>
  graph.picture.states
    .filter((one) => one.id.startsWith("call-") && one.label === `→ ${rule}`)
    .map((one) => [one.id, one.id.split("-").pop()]);

/** @param {Graph} graph */
export const endsOf = (graph, rule) =>
  graph.picture.states.filter((one) => one.rule === rule && one.kinds.includes("final"));
