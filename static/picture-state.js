/* The state of the picture card: its parts, the picture that is shown, and what is selected in it. */

import { grammarKey, grammarOf, state } from "./state.js";

/** @import { createLatest } from "./ask.js" */
/** @import { createMachine } from "./machine.js" */
/** @import { createEdgeList } from "./edge-list.js" */
/** @import { createExportMenu } from "./export-menu.js" */
/** @import { createFindBox } from "./find-box.js" */
/** @import { createRows } from "./machine-table.js" */
/** @import { createStack } from "./stack-boxes.js" */
/** @import { createTreeTools } from "./tree.js" */
/** @import { Picture, Server, Step, Turn, Why } from "./wire" */

/** ``draft``: whether the picture is that of an unfinished grammar; ``why``: the text that is explained; ``lost``: the
    state of the run that is not in the picture; ``wanted``: the tab a person chose, which is opened again as soon as a
    grammar has it.
    @typedef {Step | Turn | Why} ShownStep
    @typedef {{
      find: (selector: string) => HTMLElement, tabs: HTMLElement, more: HTMLElement, pic: HTMLElement,
      table: HTMLElement, foot: HTMLElement, stackbox: HTMLElement, tools: HTMLElement, isLive: boolean,
      shown: Picture | null, picked: { id: string, record: Picture, tab: string } | null,
      draft: boolean, why: Why | null, listed: string, lost: string,
      main: ReturnType<typeof createMachine>,
      stack: ReturnType<typeof createStack>,
      tree: ReturnType<typeof createTreeTools>,
      edges: ReturnType<typeof createEdgeList>,
      search: ReturnType<typeof createFindBox>,
      rows: ReturnType<typeof createRows>, menuOfMore: { close: () => void },
      wanted: string, listing: ReturnType<typeof createLatest>,
      details: ReturnType<typeof createLatest>, showLevel: (level: string) => void,
      exportsOf: ReturnType<typeof createExportMenu>,
      files: ReturnType<typeof createLatest>, built: HTMLButtonElement[],
      titles: Record<string, string>, model: string, element: HTMLElement, server: Server,
    }} PictureCard */

export const FINDABLE = ["together", "characters", "tokens", "stack", "rules"];
export const NEVER_FOLLOWED = ["proper", "detokenizer"];

/** The step the pictures show: the selected token, or while it streams the end.
    @param {PictureCard} card @returns {[ShownStep | null, boolean]} */
export function currentStep(card) {
  if (card.why) return [card.why, false];
  const index = state.selected >= 0 ? state.selected : state.steps.length - 1;
  const step = state.steps[index] ?? state.turn; // before its first token a run is at its prompt
  return step && state.compiled?.ok && state.ran === grammarKey(state.compiled)
    ? [step, state.selected < 0]
    : [null, false];
}

/** @param {object} more */
export const requestOf = (more) => ({
  ...grammarOf(state.compiled),
  example: state.compiled.example,
  tab: state.tab,
  ...more,
});

/** Centre on a state that was searched, drawn or not. @param {PictureCard} card @param {string} id */
export async function centre(card, id) {
  if (card.main.graph.has(id)) card.main.graph.follow(id);
  else await card.main.load(id);
  card.main.graph.pick(id);
  card.main.graph.reveal(`state-${id}`);
  card.pic.focus({ preventScroll: true });
}

/** @param {PictureCard} card @param {string} count */
export const showCount = (card, count) => {
  card.find(".count").textContent = card.find(".count").title = count;
};

/** What is shown is no longer the grammar's. @param {PictureCard} card */
export function dim(card, waits = true) {
  card.main.stale(true, waits);
  card.table.classList.add("stale");
}
