/* A picture that follows the run: it is requested, lit, and drawn again around another state. */

import { passedBy } from "./graph.js";
import { flagRequestOf, HIDDEN, QUESTIONS, remembered, requestOf } from "./machine-requests.js";
import { chosen, pictureKey, showBlank, showWaiting, unfolded } from "./machine-view.js";
import { state } from "./state.js";
import { treeRequest } from "./tree.js";

/** @import { MachineView } from "./machine-view" */

const PAUSE = 900; // milliseconds between two pictures while a run streams: drawing must not slow it
const MOVED = 24; // pixels by which a box may change before text that fills its width is laid out anew

/** Draw, around a state where one is named; the old picture stays until the new one is there.
    @param {MachineView} view */
export const loadPicture = (view, centre) =>
  view.drawing.run(async (ask, wait) => {
    view.loading = centre || "";
    const asking = requestOf(view, centre);
    showAnswer(
      view,
      await wait(remembered(ask, view.server, QUESTIONS[view.tab] ?? "draw_machine", asking)),
      asking,
      centre,
    );
  });

/** @param {MachineView} view */
function showAnswer(view, answer, asking, centre) {
  view.loading = null;
  view.sent = asking;
  view.box.classList.remove("stale");
  view.record = answer.ok ? answer : null;
  view.known = view.record ?? view.known;
  view.where = centre || "";
  view.busy.textContent = "";
  showBlank(view, answer.ok ? "" : answer.why, false);
  view.over = null;
  view.graph.show(view.record, view.where);
  view.shown(answer, asking);
  follow(view, ...view.current);
}

/** Whether a request has to wait while a run streams; it is made again after the pause. @param {MachineView} view */
function mustPause(view, again, pause = PAUSE) {
  clearTimeout(view.soon);
  const wait = state.running ? view.last + pause - performance.now() : 0;
  if (wait > 0) view.soon = setTimeout(() => again(), wait);
  else view.last = performance.now();
  return wait > 0;
}

/** Draw the tokens that may follow where the run is; ``anew`` also those that are drawn already.
    @param {MachineView} view */
export function drawFlags(view, anew = false) {
  if (view.tab !== "together" || !view.record || !chosen.tokens) {
    view.flagging.drop();
    view.over = null;
    view.graph.flags(null);
    return;
  }
  if (view.loading !== null) return;
  const asking = flagRequestOf(view, ...view.current);
  if (!anew && view.over && JSON.stringify(view.over) === JSON.stringify(asking)) return;
  if (mustPause(view, (anew) => drawFlags(view, anew))) {
    view.graph.flags(null); // they would be those of an earlier state
    view.over = null;
    return;
  }
  view.over = asking;
  view.flagging.run(async (ask, wait) => {
    const answer = await wait(remembered(ask, view.server, "draw_flags", asking));
    if (!view.box.clientWidth) {
      view.over = null; // behind another view nothing has a size: they are drawn once it is shown
      return;
    }
    view.graph.flags(answer.ok ? answer : null);
    lightRun(view);
    view.flagged(answer);
    const next = state.selected >= 0 && state.steps[state.selected + 1];
    if (next)
      view.flaggingAhead.run((ask) => remembered(ask, view.server, "draw_flags", flagRequestOf(view, next, false)));
  });
}

/** Light where the run is, and come along where that is wanted. @param {MachineView} view */
export function follow(view, step, atEnd = false) {
  view.current = [step, atEnd];
  if (view.tab === "tree") {
    growTree(view);
    return;
  }
  if (!view.known) return;
  const { standing, shows } = lightRun(view);
  const [here] = standing;
  drawFlags(view);
  if (!here || view.loading !== null) return;
  if (shows && chosen.follow) view.graph.follow(here, !state.running); // sixty repaints a move would slow a run
  if (view.record && (shows || !view.record.partial)) return;
  // the same request gets the same answer: to repeat it would not end
  if (view.where !== here && chosen.follow) {
    if (!mustPause(view, () => follow(view, ...view.current))) loadPicture(view, here);
  } else if (view.record) view.lost(here);
}

/** Light what the current token passes. @param {MachineView} view */
function lightRun(view) {
  const [step, atEnd] = view.current;
  const passed = passedBy(view.known, step, atEnd);
  const shows =
    view.record && view.graph.light(passed, { fails: Boolean(step && "reason" in step && step.reason), atEnd, step });
  return { standing: passed.standing, shows };
}

/** Request the tree of the text up to the current token. @param {MachineView} view */
function growTree(view) {
  if (view.loading !== null || !chosen.follow || !view.sent) return;
  const { so_far, current: at } = treeRequest(view.current[0], view.current[1]);
  if (view.sent.tab === "tree" && view.sent.so_far === so_far && view.sent.current === at) return;
  if (!mustPause(view, () => growTree(view), PAUSE / 3)) loadPicture(view, "");
}

/** The box has another size. @param {MachineView} view */
export function resize(view) {
  if (view.box.clientWidth && !view.over) drawFlags(view);
  if (!view.record || !view.sent?.width || !state.compiled?.ok || !view.box.clientWidth) return;
  if (!(view.tab in QUESTIONS) && view.sent.width >= HIDDEN) return; // a machine keeps its layout
  if (
    Math.abs(view.sent.width - view.box.clientWidth) > MOVED ||
    Math.abs((view.sent.height ?? 0) - view.box.clientHeight) > MOVED
  )
    loadPicture(view, view.where);
}

/** Draw the states of a chain apart, in its place; an empty list folds all chains again. @param {MachineView} view
    @param {string[]} states */
export function unfold(view, states) {
  view.unfolding = { key: pictureKey(view), states: states.length ? [...unfolded(view), ...states] : [] };
  loadPicture(view, view.where);
}

/** Show a machine of the compiled grammar, around the run's state if it is followed. @param {MachineView} view */
export function open(view, name, centre = "") {
  if (name !== view.tab) {
    view.record = view.known = view.over = null;
    view.graph.show(null);
    showBlank(view, view.kernels, true);
    view.busy.textContent = "";
  }
  view.tab = name;
  const standing = !centre && chosen.follow && view.record ? passedBy(view.record, ...view.current).standing[0] : "";
  return loadPicture(view, centre || standing);
}

/** Show a text in the place of a picture; ``waiting``: one is awaited.
    @param {MachineView} view @param {string} text @param {boolean} [waiting] */
export function showText(view, text, waiting) {
  view.drawing.drop();
  view.flagging.drop();
  view.record = view.known = view.over = null;
  view.graph.show(null);
  view.busy.textContent = "";
  showBlank(view, text, waiting);
}

/** Dim the picture of an earlier grammar; ``awaited`` if the server reads the new one. @param {MachineView} view */
export function stale(view, on, awaited = false) {
  view.box.classList.toggle("stale", on);
  if (awaited && view.kernels) showWaiting(view);
  else if (on) view.box.classList.remove("compiling");
}

/** Where the run will be in the next picture, or null where the grammar is no longer the run's.
    @param {MachineView} view */
export function expect(view, step, atEnd) {
  view.current = [step, atEnd];
}
