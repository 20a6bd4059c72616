/* What is selected in a picture, and what stands out while the pointer is on it. */

import { debounce, targetOf } from "./dom.js";
import { drawReturn } from "./graph-lines.js";
import { callsOf, edgeOf, edgesOf, element, labelsOf, lane, stateOf } from "./graph-state.js";
import { emit } from "./state.js";

/** @import { Graph } from "./graph-state" */
/** @import { Flags } from "./wire" */

/** @param {Graph} graph */
export function pick(graph, state) {
  graph.chosen = state;
  for (const node of graph.canvas.querySelectorAll(".picked")) node.classList.remove("picked");
  const found = state === null ? null : element(graph, `state-${state}`);
  found?.classList.add("picked");
  if (found) graph.box.setAttribute("aria-activedescendant", found.id);
  else graph.box.removeAttribute("aria-activedescendant");
  graph.picked(state);
}

/** @param {Graph} graph */
export function pickAt(graph, target) {
  const group = target?.closest?.(".node, .edge, .label, .rulename, .non-terminal");
  if (!group || !graph.canvas.contains(group)) {
    if (graph.chosen !== null) pick(graph, null);
    return;
  }
  if (group.matches(".node.calls")) {
    emit("open rule", group.querySelector("text").textContent);
    return;
  }
  if (group.matches(".node")) {
    if (group.dataset.id) pick(graph, stateOf(group));
  } else if (group.matches(".segment")) {
    pick(graph, null);
    group.classList.add("picked");
    const [flag, part] = group.dataset.flag.split(" ").map(Number);
    graph.pickedFlag(/** @type {Flags} */ (graph.flags).flags[flag].segments[part]);
  } else if (group.matches(".label")) {
    pick(graph, null);
    group.classList.add("picked");
    graph.pickedEdge(edgesOf(group)[0]);
  } else if (group.matches(".edge")) {
    pick(graph, null);
    group.classList.add("picked");
    graph.pickedEdge(edgeOf(group));
  } else {
    const place = group.closest("[data-start]");
    if (place) emit("place", { start: Number(place.dataset.start), end: Number(place.dataset.end) });
  }
}

/** The states in drawing order; with an arrow key and Alt the one an edge leads to. @param {Graph} graph */
function move(graph, by) {
  const ids = graph.picture.states.map(({ id }) => id);
  if (!ids.length) return;
  const next = (ids.indexOf(graph.chosen ?? "") + by + ids.length) % ids.length;
  pick(graph, ids[next]);
  graph.camera.reveal(element(graph, `state-${ids[next]}`));
}

/** @param {Graph} graph */
function pressKey(graph, event) {
  if (event.target !== graph.box || event.ctrlKey || event.metaKey) return;
  if (event.shiftKey && graph.chosen !== null && graph.drag.key(graph.chosen, event.key)) {
    event.preventDefault();
    return;
  }
  const act = {
    ArrowLeft: () => graph.camera.pan(-40, 0),
    ArrowRight: () => graph.camera.pan(40, 0),
    ArrowUp: () => graph.camera.pan(0, -40),
    ArrowDown: () => graph.camera.pan(0, 40),
    "+": () => graph.camera.zoom(0.8),
    "=": () => graph.camera.zoom(0.8),
    "-": () => graph.camera.zoom(1.25),
    0: () => fit(graph),
    ".": () => move(graph, 1),
    ",": () => move(graph, -1),
    Escape: () => {
      if (graph.chosen === null) return false;
      pick(graph, null);
      return true;
    },
  }[event.key];
  if (act && act() !== false) event.preventDefault();
}

/** What belongs to a state or an edge stands out while the pointer is on it; where a rule ends, its returns are
      drawn. @param {Graph} graph */
function hover(graph, target) {
  for (const near of graph.canvas.querySelectorAll(".near")) near.classList.remove("near");
  for (const line of graph.hovered) line.remove();
  graph.hovered = [];
  const group = target?.closest?.(".node, .edge, .label");
  graph.canvas.classList.toggle("looking", Boolean(group && graph.picture.edges.length));
  if (!group) return;
  const state = group.matches(".node") && group.dataset.id ? stateOf(group) : null;
  const edges = group.matches(".label") ? edgesOf(group) : [edgeOf(group)];
  graph.picture.edges.forEach((edge, index) => {
    if (state === null ? !edges.includes(index) : edge.source !== state && edge.target !== state) return;
    for (const id of [`edge-${index}`, `state-${edge.source}`, `state-${edge.target}`])
      element(graph, id)?.classList.add("near");
    for (const label of labelsOf(graph, index)) label.classList.add("near");
  });
  if (state?.startsWith("call-"))
    lane(graph, graph.picture.states.find((one) => one.id === state)?.label.replace(/^→ /, ""))?.classList.add("near");
  group.classList.add("near");
  if (state !== null && graph.svg?.matches(".lanes")) showReturns(graph, state);
}

/** Where a rule ends, lines go to the states in which its callers continue. @param {Graph} graph */
function showReturns(graph, state) {
  const ended = graph.picture.states.find((one) => one.id === state && one.kinds.includes("final"));
  if (ended?.rule)
    callsOf(graph, ended.rule).forEach(([call, back], index) => {
      element(graph, `state-${call}`)?.classList.add("near");
      element(graph, `state-${back}`)?.classList.add("near");
      graph.hovered.push(...drawReturn(graph, state, back, index));
    });
}

/** @param {Graph} graph */
export function listen(graph) {
  graph.box.addEventListener("keydown", (event) => pressKey(graph, event));
  graph.box.addEventListener("dblclick", (event) => {
    const node = targetOf(event).closest(".node[data-id]");
    if (node) graph.drag.reset(stateOf(node));
  });
  const soon = debounce(90, (target) => hover(graph, target));
  graph.box.addEventListener("pointerover", (event) => soon(event.target));
  graph.box.addEventListener("pointerleave", () => soon.now(null));
}

/** @param {Graph} graph */
export function fit(graph) {
  graph.drag.reset();
  graph.camera.fit();
}
