/* The state of the grammar card: its parts, the section that is open, and what is known of the text. */

import { el } from "./dom.js";
import { grammarKey, state, wholeOf } from "./state.js";

/** @import { createLatest } from "./ask.js" */
/** @import { createChangeList, createOutline, createPhaseBar, createProblemList,
    createSampleList } from "./author.js" */
/** @import { debounce } from "./dom.js" */
/** @import { createEditor } from "./editor.js" */
/** @import { createMachineTab } from "./machine-tab.js" */
/** @import { createPrompt } from "./prompt.js" */
/** @import { createQuiet } from "./quiet.js" */
/** @import { createSearch } from "./search.js" */
/** @import { createSyntaxCard } from "./syntax-card.js" */
/** @import { createTestList } from "./tests.js" */
/** @import { createWordList } from "./words.js" */
/** @import { OpenedExample } from "./events" */
/** @import { Server } from "./wire" */

/** ``unread``: whether the whole text was replaced,
    and the new one was not read yet; ``pasted``: whether it was replaced at once; ``written``: what was last written
    in each notation; ``section``: the one that was chosen, and ``forced`` whether the problems are shown in its place;
    ``folded``: whether the sections leave their room to the editor; ``known``: what the list of problems shows.
    @typedef {{
      find: (selector: string) => HTMLElement, facts: HTMLElement, verdict: HTMLElement, note: HTMLElement,
      aloud: HTMLElement, layout: HTMLSelectElement, longest: HTMLInputElement,
      boxes: Record<string, HTMLInputElement>, leftOut: HTMLButtonElement,
      compiling: ReturnType<typeof createLatest>,
      outlining: ReturnType<typeof createLatest>,
      looking: ReturnType<typeof createLatest>, unread: boolean, pasted: boolean,
      prompt: ReturnType<typeof createPrompt>,
      editor: ReturnType<typeof createEditor>,
      quiet: ReturnType<typeof createQuiet>,
      machine: ReturnType<typeof createMachineTab>, kinds: HTMLElement, more: HTMLSelectElement,
      written: Record<string, OpenedExample & { came?: unknown }>, tabs: HTMLElement, panel: HTMLElement,
      folder: HTMLElement, section: string, forced: boolean, folded: boolean,
      search: ReturnType<typeof createSearch> | null,
      problems: ReturnType<typeof createProblemList>,
      tests: ReturnType<typeof createTestList>,
      outline: ReturnType<typeof createOutline>,
      words: ReturnType<typeof createWordList>,
      syntax: ReturnType<typeof createSyntaxCard>,
      samples: ReturnType<typeof createSampleList>,
      change: ReturnType<typeof createChangeList>,
      phases: ReturnType<typeof createPhaseBar>, compileSoon: ReturnType<typeof debounce>,
      known: Record<string, unknown>, server: Server,
    }} GrammarCard */

/** The example's name while its text is untouched: some have their own tokens. */
export const exampleNow = () =>
  state.example && grammarKey(state.example).trimEnd() === grammarKey(wholeOf(state)).trimEnd()
    ? (state.example.name ?? "")
    : "";

/** @param {GrammarCard} card @param {string} name @returns {HTMLElement} */
export const sectionButton = (card, name) => card.tabs.querySelector(`[data-section="${name}"]`);

/** What the tab of a section says of it, and what is read aloud with it.
    @param {GrammarCard} card @param {string} name @param {string} text @param {string} colour
    @param {string} [aloud] */
export const markSection = (card, name, text, colour, aloud) =>
  sectionButton(card, name)
    .querySelector(".n")
    .replaceChildren(...(text ? [" ", el("span", { class: colour }, text), el("span.sr", aloud ?? "")] : []));
