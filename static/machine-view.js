/* The state of a picture of a grammar's machine: what is shown, what is requested, and where the run is. */

import { grammarKey, state } from "./state.js";
import { saved } from "./storage.js";

/** @import { createGraph } from "./graph.js" */
/** @import { createLatest } from "./ask.js" */
/** @import { Answer, Flags, Picture } from "./wire" */
/** @import { PictureRequest } from "./state.js" */
/** @import { ShownStep } from "./picture-state.js" */

/** ``loading``: the state around which a picture is requested; ``over``: the request for the flags that are drawn or
    awaited; ``kernels``: the message while the engine is being compiled.
    @typedef {{
      busy: HTMLElement, say: HTMLElement, bones: HTMLElement,
      graph: ReturnType<typeof createGraph>, record: Picture | null, known: Picture | null,
      tab: string, loading: string | null, where: string, sent: PictureRequest | null, over: PictureRequest | null,
      current: [ShownStep | null, boolean], last: number, soon: number, kernels: string,
      unfolding: { key: string, states: string[] }, drawing: ReturnType<typeof createLatest>,
      flagging: ReturnType<typeof createLatest>,
      flaggingAhead: ReturnType<typeof createLatest>, box: HTMLElement,
      server: Record<string, (sent: object) => Promise<unknown>>,
      shown: (answer: Answer<Picture>, sent: PictureRequest) => void, flagged: (answer: Answer<Flags>) => void,
      lost: (state: string) => void,
    }} MachineView */

const COMPILING = "First start: the engine is being compiled. The last picture is shown until the next one is ready.";

/** How pictures are looked at, the same for all of them; kept in the browser. */
const USUAL = { follow: true, chains: null, size: 0, level: "states", tokens: true, stack: true };

export const chosen = { ...USUAL, ...saved.get("picture", {}) };

/** @param {MachineView} view @param {string | undefined} text @param {boolean} [waiting] */
export const showBlank = (view, text, waiting) => {
  view.say.hidden = !text;
  view.say.children[0].textContent = text || "";
  view.bones.hidden = !waiting;
};

/** Say that an answer is awaited; the old picture stays, and is not dimmed if that can take a minute.
    @param {MachineView} view */
export function showWaiting(view) {
  view.box.classList.add("stale");
  view.box.classList.toggle("compiling", Boolean(view.kernels));
  if (view.record) view.busy.textContent = view.kernels ? COMPILING : "drawing…";
  else showBlank(view, view.kernels, true);
}

/** @param {MachineView} view @param {string} words */
export function showKernels(view, words) {
  if (words === view.kernels) return;
  view.kernels = words;
  if (view.busy.textContent || !view.bones.hidden) showWaiting(view);
}

/** The states of chains that the reader unfolded in this picture. @param {MachineView} view */
export const unfolded = (view) => (view.unfolding.key === pictureKey(view) ? view.unfolding.states : []);

/** @param {MachineView} view */
export const unfoldedRequest = (view) => (unfolded(view).length ? { unfolded_states: unfolded(view) } : {});

/** @param {MachineView} view */
export const pictureKey = (view) => (state.compiled ? `${view.tab} ${grammarKey(state.compiled)}` : view.tab);
