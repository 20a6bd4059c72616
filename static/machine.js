/* One machine of a grammar as a picture that follows the run. The server lays it out once: a run moves what is drawn
   over it and the part that is in view. The old picture stays until the new one arrives; every token lights its
   states. */

import { createLatest } from "./ask.js";
import { bound } from "./bound.js";
import { debounce, el } from "./dom.js";
import { createGraph } from "./graph.js";
import { drawFlags, expect, follow, loadPicture, open, resize, showText, stale, unfold } from "./machine-follow.js";
import { chosen, showBlank, showKernels, showWaiting, unfolded } from "./machine-view.js";
import { emit, grammarKey, on, state } from "./state.js";
import { saved } from "./storage.js";

/** @import { MachineView } from "./machine-view" */
/** @import { Answer, Edge, Flags, FlagSegment, Picture, Server } from "./wire" */
/** @import { PictureRequest } from "./state.js" */

export const pictureLooks = {
  get: () => chosen,
  /** @param {Partial<typeof chosen>} changes */
  set(changes) {
    Object.assign(chosen, changes);
    saved.set("picture", chosen);
    emit("looks", chosen);
  },
};

/** ``picked(state)``, ``edge(record)``, ``flag(segment)`` report clicks, ``shown(answer)`` a picture that is there,
    ``flagged(answer)`` the tokens drawn over it, ``lost(state)`` that the run has left it and is not followed,
    ``beyond`` a zoom (``camera.js``).
    @typedef {{ picked(state: string | null): void, edge(edge: Edge | undefined, index: number): void,
      flag(segment: FlagSegment): void, lost(state: string): void,
      shown(answer: Answer<Picture>, sent: PictureRequest): void, flagged(answer: Answer<Flags>): void,
      beyond(by: number, under: Element | null): boolean }} Doors */

/** The elements, the graph and the requests. @param {HTMLElement} box @param {MachineView["server"]} server
    @param {Doors} doors @returns {MachineView} */
function createView(box, server, { picked, edge, flag, shown, flagged, lost, beyond }) {
  const busy = el("span.howmuch", { role: "status" });
  const say = el("div.say", { hidden: true }, el("div"));
  const bones = el("div.bones", { "aria-hidden": "true" }, ...[0, 1, 2, 3, 4].map(() => el("i")));
  box.prepend(el("div.canvas"), bones, busy, say);
  let slow = 0;
  /** @type {MachineView} */
  const view = {
    box,
    server,
    shown,
    flagged,
    lost,
    busy,
    say,
    bones,
    graph: createGraph(box, picked, {
      edge: (index) => edge(view.record?.edges[index], index),
      flag: (segment) => flag(segment),
      machine: () => view.tab,
      camera: { beyond },
    }),
    record: null,
    known: null,
    tab: "",
    loading: null,
    where: "",
    sent: null,
    over: null,
    current: [null, false],
    last: 0,
    soon: 0,
    kernels: "",
    unfolding: { key: "", states: [] },
    drawing: createLatest({
      busy: (waiting) => {
        clearTimeout(slow);
        if (waiting) slow = setTimeout(() => showWaiting(view), 250);
        else view.loading = null;
      },
      subject: () => grammarKey(state),
    }),
    // asked while the grammar is typed, an answer may arrive when it is known that it cannot be read
    flagging: createLatest({ subject: () => `${grammarKey(state)} ${state.compiled?.ok}` }),
    flaggingAhead: createLatest(),
  };
  return view;
}

/** @type {Doors} */
const NO_DOORS = {
  picked() {},
  edge() {},
  flag() {},
  lost() {},
  shown() {},
  flagged() {},
  beyond: () => false,
};

/** ``box`` becomes the picture.
    @param {HTMLElement} box
    @param {Pick<Server, "draw_machine" | "draw_flags" | "draw_railroad" | "draw_parse_tree">} server
    @param {Partial<Doors>} [doors] */
export function createMachine(box, server, doors = {}) {
  const view = createView(box, server, { ...NO_DOORS, ...doors });
  showBlank(view, "", true);
  on("kernels", (words) => showKernels(view, words));
  new ResizeObserver(debounce(220, () => resize(view))).observe(box);
  return {
    ...bound(view, { load: loadPicture, go: follow, expect, flags: drawFlags, unfold, open, say: showText, stale }),
    graph: view.graph,
    get record() {
      return view.record;
    },
    get tab() {
      return view.tab;
    },
    /** What the last picture was requested with. */
    get sent() {
      return view.sent;
    },
    /** What its flags were requested with. */
    get over() {
      return view.over;
    },
    get unfolded() {
      return unfolded(view).length > 0;
    },
    /** Ask for no picture any more. */
    drop: view.drawing.drop,
  };
}
