/* A picture of a machine that reacts: the server's SVG and the position of each state in it. A click or a key selects a
   state or an edge; the pointer lights what belongs to a state, a run its path. */

import { bound } from "./bound.js";
import { createCamera } from "./camera.js";
import { createDrag } from "./drag.js";
import { drawFlags } from "./flags.js";
import { createGlide } from "./glide.js";
import { light } from "./graph-light.js";
import { fit, listen, pick, pickAt } from "./graph-pick.js";
import { edgeOf, edgesOf, element, labelsOf, NO_PICTURE, shownAt } from "./graph-state.js";
import { describeParts, markStart, parseSvg } from "./graph-svg.js";
import { createOverview } from "./overview.js";

/** @import { FlagSegment, Picture } from "./wire" */
/** @import { Graph } from "./graph-state" */
/** @import { ShownStep } from "./picture-state.js" */

let made = 0;

/** The states a token passes in a picture: the current ones, and the moments from there on. A machine over tokens
      passes none on the way; ``mark`` is what the token does to the stack.
    @param {Picture | null} record @param {ShownStep | null} step */
export function passedBy(record, step, atEnd = false) {
  const states = (record?.follow && step?.path?.[record.follow]) || [];
  if (!record || !states.length) return { standing: [], path: [], over: false, mark: "" };
  const moments = states.map((moment) => moment.map((name) => record.names[name] ?? name));
  const [first, last] = [moments[0], moments[moments.length - 1]];
  const between = moments.slice(1, -1).some(([name]) => name !== first[0] && name !== last[0]);
  const path = record.ends && moments.length > 1 ? [first, last] : moments;
  const [before, after] = step?.path.stacks || [];
  const pops = after?.kept !== undefined ? before.depth - after.kept : 0,
    pushes = after?.kept !== undefined ? after.depth - after.kept : 0;
  const mark = [pops ? `▼${pops}` : "", pushes ? `▲${pushes}` : ""].filter(Boolean).join(" ");
  return {
    standing: atEnd ? last : first,
    path,
    over: record.ends && record.follow === "characters" && between,
    mark,
  };
}

/** @param {Graph} graph */
function dropFlags(graph) {
  graph.layer?.remove();
  graph.layer = graph.flags = null;
  for (const marked of graph.canvas.querySelectorAll(".landing, .ahead")) marked.classList.remove("landing", "ahead");
}

/** Draw the tokens that may follow over the picture, instead of those before; null draws none.
    @param {Graph} graph */
function showFlags(graph, next) {
  dropFlags(graph);
  if (!next || !graph.svg) return;
  graph.flags = next;
  graph.layer = drawFlags(graph.svg, graph.picture, next, {
    element: (id) => element(graph, id),
    labels: (index) => labelsOf(graph, index)[0],
  });
}

/** The old picture goes while the new one is there already: nothing blinks. @param {Graph} graph */
function replaceOld(graph, old) {
  graph.canvas.replaceChildren(...(graph.svg ? [graph.svg] : []), ...(graph.svg && old ? [old] : []));
  if (graph.svg && !old) graph.svg.classList.add("fresh");
  if (graph.svg && old) {
    old.setAttribute("aria-hidden", "true");
    old.classList.add("leaving");
    setTimeout(() => old.remove(), 160);
  }
}

/** @param {Graph} graph */
function openCamera(graph, next, at, home) {
  const { svg } = graph;
  if (!svg) return;
  const wide = svg.classList.contains("railroad");
  const first =
    element(graph, next.where[at || next.centre]) ||
    element(graph, `state-${(next.states.find((each) => each.kinds.includes("initial")) || next.states[0])?.id}`);
  const frame = wide ? home : markStart(svg, home);
  graph.overview.open(svg, frame);
  graph.camera.open(svg, frame, {
    centre: first,
    wide,
    at: at || next.centre ? 0.5 : 0.12,
    clip: graph.machine?.() !== "together",
    ...next.opening,
  });
}

/** Show a record; ``at`` is the state it opens at. @param {Graph} graph */
function show(graph, next, at = "") {
  graph.picture = next ?? NO_PICTURE;
  graph.lit = [];
  graph.chosen = graph.layer = graph.flags = null;
  graph.box.removeAttribute("aria-activedescendant");
  graph.glide.end();
  const old = graph.svg,
    before = next && graph.glide.from(old);
  graph.svg = next ? parseSvg(next.svg, graph.prefix) : null;
  replaceOld(graph, old);
  if (!graph.svg) {
    graph.overview.open(null);
    graph.camera.close();
    return;
  }
  const home = (graph.svg.getAttribute("viewBox") || "0 0 100 100").split(/[\s,]+/).map(Number);
  for (const name of ["width", "height"]) graph.svg.removeAttribute(name);
  graph.svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
  graph.svg.setAttribute("role", "group");
  openCamera(graph, next, at, home);
  describeParts(graph.svg);
  graph.drag.open(graph.svg, next);
  if (before) graph.glide.to(graph.svg, before);
}

/** @param {HTMLElement} box @param {(state: string | null) => void} picked
    @param {{ edge?: (index: number) => void, flag?: (segment: FlagSegment) => void, camera?: object,
      machine?: (() => string) | null, seen?: (isWhole: boolean) => void }} [doors] ``seen`` gets whether the whole
      picture is in view */
export function createGraph(
  box,
  picked,
  {
    edge: pickedEdge = () => {},
    flag: pickedFlag = () => {},
    camera: looks = {},
    machine = null,
    seen = () => {},
  } = {},
) {
  const canvas = box.querySelector(".canvas");
  const drag = createDrag(machine);
  const glide = createGlide();
  const overview = createOverview(box, (x, y) => camera.goTo(x, y));
  const camera = createCamera(box, (target) => pickAt(graph, target), {
    ...looks,
    grab: drag.grab,
    seen: (view, isWhole) => {
      overview.see(view);
      seen(isWhole);
    },
  });
  /** @type {Graph} */
  const graph = {
    canvas,
    prefix: `g${++made}-`,
    picture: NO_PICTURE,
    svg: null,
    chosen: null,
    lit: [],
    flags: null,
    layer: null, // the flags as drawn
    drag,
    glide,
    overview,
    camera,
    hovered: [],
    box,
    picked,
    pickedEdge,
    pickedFlag,
    machine,
  };
  listen(graph);
  return {
    ...bound(graph, { flags: showFlags, show, light, pick, fit }),
    /** The number of the edge that an element belongs to, itself or its label; −1 for none. */
    edgeAt: (element) => {
      const group = element.closest(".edge, .label:not(.segment)");
      return !group ? -1 : group.matches(".edge") ? edgeOf(group) : edgesOf(group)[0];
    },
    /** Whether a state is in the picture, itself or inside an edge. */
    has: (state) => Boolean(element(graph, shownAt(graph, state))),
    follow: (state, smooth) => {
      glide.end();
      camera.follow(element(graph, shownAt(graph, state)), smooth);
    },
    /** The state that the overview marks. */
    current: (id) => overview.mark(element(graph, id)),
    reveal: (id, share) => camera.reveal(element(graph, id), { share }),
    /** The whole picture, however small it becomes. */
    whole: camera.all,
    zoom: camera.zoom,
    /** Mark the nodes on the path to the selected one. */
    path(ids) {
      for (const node of canvas.querySelectorAll(".node.above")) node.classList.remove("above");
      for (const id of ids) element(graph, `state-${id}`)?.classList.add("above");
    },
    /** Rules being read, where rules are drawn as tracks. */
    rules(names) {
      for (const rule of canvas.querySelectorAll("g.rule[data-rule]"))
        rule.classList.toggle("now", names.includes(rule.dataset.rule));
    },
  };
}
