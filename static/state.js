/* What all parts of the page share: one state, the events by which the parts talk, and the requests to the server. */

const listeners = new Map();
/** @import { Answer, Compiled, Example, ExampleName, Method, Picture, Step, Turn } from "./wire" */

/** ``hole``: the texts before and after a hole that the run fills; the grammar is then that of the hole.
    @typedef {{ prefix: string, suffix: string }} Hole
    @typedef {{ text: string, notation: string, start: string, style: string, hole?: Hole | null }} GrammarText */

/** ``compiled`` and ``drawn`` are the latest answers with the grammar they were asked of; ``ran`` is the key of the
    grammar that wrote ``steps``, ``turn`` the next token while it is selected.
    @type {GrammarText & { gallery: ExampleName[], methods: Method[], example: Partial<Example> & Record<string, any>,
      tests: { text: string, expect: string }[], prompt: string, system: string | null,
      compiled: Compiled & GrammarText & { example: string },
      drawn: Picture & GrammarText & Record<string, any>, pending: boolean, tab: string, steps: Step[],
      selected: number, running: boolean, model: string, view: string | null, ran?: string, turn?: Turn | null,
      space?: string, results?: string }} */
export const state = {
  gallery: [],
  methods: [],
  example: /** @type {any} */ (null),
  notation: "regex",
  start: "start",
  style: "",
  hole: null,
  text: "",
  tests: [],
  prompt: "",
  system: null,
  compiled: /** @type {any} */ (null),
  drawn: /** @type {any} */ (null),
  pending: false,
  tab: "characters",
  steps: [],
  selected: -1,
  running: false,
  model: "",
  view: "workbench",
};

export const on = (name, listener) => {
  if (!listeners.has(name)) listeners.set(name, []);
  listeners.get(name).push(listener);
};
export const emit = (name, detail) => {
  for (const listener of listeners.get(name) || []) listener(detail);
};
/** Call a function once the page has opened what it begins with. @param {() => void} act */
export function onBegun(act) {
  let waiting = true;
  on("example", () => {
    if (waiting) setTimeout(act);
    waiting = false;
  });
}

/** The grammar of whatever holds one, as the server is asked about it; two are one if their keys are.
    @param {any} held @returns {GrammarText} */
export const grammarOf = ({ hole, ...held }) => ({ ...wholeOf(held), ...(hole ? { hole } : {}) });
/** The same for whole texts, whether a hole is filled or not.
    @param {any} held @returns {GrammarText} */
export const wholeOf = ({ text, notation, start, style }) => ({ text, notation, start, style: style || "" });
export const grammarKey = (held) => {
  const { text, notation, start, style, hole } = grammarOf(held);
  return [notation, start, style, ...(hole ? [hole.prefix, hole.suffix] : []), text].join("\n");
};

/** The messages before the prompt, as the server is asked; null if the prompt is a text and no message.
    @param {{ system?: string | null }} held */
export const chatOf = ({ system = null }) =>
  system === null ? null : system ? [{ role: "system", content: system }] : [];

/** The system message of such messages, the argument of ``chatOf``.
    @param {{ content: string }[] | null} chat */
export const systemOf = (chat) => (chat ? (chat[0]?.content ?? "") : null);

/** What a card offers to other parts once it is on the page: the run card its settings, its records and how its mask is
    asked for after some tokens, the comparison its settings. Null before, and in a replay.
    @type {{ run: { settings(): object, apply(settings: object): void, records(): Record<string, any>[],
      masked(count: number): { masked?: object } },
      compare: { settings(): object } }} */
export const cards = { run: /** @type {any} */ (null), compare: /** @type {any} */ (null) };

/** Milliseconds before a question that the server was too busy to take is asked again. */
const WAITS = [1000, 2000, 4000, 8000];
const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** Milliseconds before a question without an answer is asked again: its worker ended, and a proxy chooses another. */
const LOST = [500, 2000];

/** The answer to a question, which is asked again if none arrives.
    @template T @param {() => Promise<T>} question @returns {Promise<T>} */
async function answered(question) {
  for (const wait of LOST) {
    try {
      const answer = await question();
      if (answer) return answer;
    } catch {
      /* asked again below */
    }
    await sleep(wait);
  }
  return question();
}

/** Ask the server; what it could not answer becomes a sentence instead of an exception. A busy server is asked again a
    few times, and "busy" is emitted with the number of questions that wait there.
    @template T @param {(sent: object) => Promise<T>} question @param {object} sent @returns {Promise<Answer<T>>} */
export async function askServer(question, sent) {
  /** @type {any} */
  let answer;
  const slow = setTimeout(() => emit("slow answer"), 1500);
  try {
    answer = await answered(() => question({ model: state.model, ...sent }));
    for (const wait of WAITS) {
      if (answer?.busy === undefined) break;
      emit("busy", answer.busy);
      await sleep(wait * (0.75 + Math.random() / 2)); // many browsers do not come back at the same moment
      answer = await answered(() => question({ model: state.model, ...sent }));
    }
  } catch {
    answer = { fault: "the server did not answer; is it still running?" };
  } finally {
    clearTimeout(slow);
  }
  return answer ?? { fault: "a fault of the workbench itself; the server's log says more" };
}

const KERNELS =
  "First start: the engine is being compiled, once per installation, for a minute or two. " +
  "Until then answers take longer.";
let words = "";
/** Whether the server compiles its kernels; answers take longer until then. Panes that wait for one hear "kernels" with
    the words to show, at every look at the server while it compiles, and with "" at the end. */
export function reportCompiling(now) {
  if (!now && !words) return;
  words = now ? KERNELS : "";
  emit("kernels", words);
}
