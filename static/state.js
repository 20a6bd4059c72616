/* What all parts of the page share: one state, and the events by which the parts talk. */

/** The tabs of the picture. */
export const TABS = [
  "together",
  "characters",
  "tokens",
  "stack",
  "rules",
  "railroad",
  "tree",
  "proper",
  "detokenizer",
  "table",
];

/** @import { EventMap, ExpectedTest, OpenedExample } from "./events" */
/** @type {Map<keyof EventMap, Function[]>} */
const listeners = new Map();
/** @import { Answer, Compiled, ExampleName, Flags, Method, Step, Turn } from "./wire" */

/** ``options`` are those of the notation that are not the defaults; ``hole``: the texts before and after a hole that
    the run fills; the grammar is then that of the hole.
    @typedef {{ prefix: string, suffix: string }} Hole
    @typedef {{ tab: string, example?: string, centre?: string, so_far?: string, current?: number, width?: number,
      height?: number } & GrammarText} PictureRequest
    @typedef {{ text: string, notation: string, start: string, options: Record<string, string | boolean | number>,
      hole?: Hole | null }} GrammarText */

/** Null, in the place of what is there before most parts read it. @returns {any} */
const notYet = () => null;

/** ``own``: the text of the example was replaced by another one; ``ownTitle``: the name that the author gave the
    grammar, or empty. ``compiled`` is the latest answer with the grammar it was asked of, ``drawn`` the request for the
    latest picture, ``flagged`` that for the tokens over it, which are ``flags``; ``linted`` is the text whose advice is
    shown; ``ran`` is the key of the grammar that wrote ``steps``, ``turn`` the next token
    while it is selected, ``tooLong`` why the prompt cannot be read.
    @type {GrammarText & { gallery: ExampleName[], methods: Method[], example: OpenedExample,
      own: boolean, ownTitle: string,
      tests: ExpectedTest[], prompt: string, system: string | null, tooLong: string,
      compiled: Compiled & GrammarText & { example: string },
      drawn: PictureRequest, flagged: PictureRequest | null, flags: Answer<Flags> | null, linted: string,
      pending: boolean,
      tab: string, steps: Step[],
      selected: number, running: boolean, model: string, view: string | null, ran?: string, turn?: Turn | null,
      space?: string, results?: string }} */
export const state = {
  gallery: [],
  methods: [],
  example: notYet(),
  own: false,
  ownTitle: "",
  notation: "regex",
  start: "start",
  options: {},
  hole: null,
  text: "",
  tests: [],
  prompt: "",
  system: null,
  tooLong: "",
  compiled: notYet(),
  drawn: notYet(),
  flagged: null,
  flags: null,
  linted: "",
  pending: false,
  tab: "characters",
  steps: [],
  selected: -1,
  running: false,
  model: "",
  view: "workbench",
};

/** @template {keyof EventMap} Name @param {Name} name @param {(...details: EventMap[Name]) => void} listener */
export const on = (name, listener) => {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
};
/** @template {keyof EventMap} Name @param {Name} name @param {EventMap[Name]} details */
export const emit = (name, ...details) => {
  for (const listener of listeners.get(name) ?? []) listener(...details);
};
/** A name that no other visitor can guess: with the name of a run, it can be read and stopped. */
export function randomName() {
  // crypto.randomUUID exists only in a secure context
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
/** Call a function once the page has opened what it begins with. @param {() => void} act */
export function onBegun(act) {
  let waiting = true;
  on("example", () => {
    if (waiting) setTimeout(act);
    waiting = false;
  });
}

/** The grammar of whatever holds one, as the server is asked about it; two are one if their keys are.
    @param {Partial<GrammarText>} held @returns {GrammarText} */
export const grammarOf = ({ hole, ...held }) => ({ ...wholeOf(held), ...(hole ? { hole } : {}) });
/** The same for whole texts, whether a hole is filled or not.
    @param {Partial<GrammarText>} held @returns {GrammarText} */
export const wholeOf = ({ text, notation, start, options }) =>
  /** @type {GrammarText} */ ({ text, notation, start, options: options ?? {} });
/** @param {Partial<GrammarText>} held */
export const grammarKey = (held) => {
  const { text, notation, start, options, hole } = grammarOf(held);
  const chosen = Object.entries(options).sort().join();
  return [notation, start, chosen, ...(hole ? [hole.prefix, hole.suffix] : []), text].join("\n");
};

/** The messages before the prompt, as the server is asked; null if the prompt is a text and no message.
    @param {{ system?: string | null }} held */
export const chatOf = ({ system = null }) =>
  system === null ? null : system ? [{ role: "system", content: system }] : [];

/** The system message of such messages, the argument of ``chatOf``.
    @param {{ content: string }[] | null} chat */
export const systemOf = (chat) => (chat ? (chat[0]?.content ?? "") : null);

export const OWN_TITLE = "Your own grammar",
  LONGEST_TITLE = 80; // characters
/** Characters that cannot be seen, and those that turn the text around them. */
const UNSEEN = /[\p{Cc}\p{Cs}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}-\u{202e}\u{2060}-\u{2069}\u{feff}]/gu;
/** A name for a grammar as the page keeps it, in one line; empty for what is no text. @param {unknown} value */
export const cleanTitle = (value) =>
  typeof value === "string" ? value.slice(0, LONGEST_TITLE).replace(UNSEEN, " ").trim() : "";
/** Name the grammar; with an empty name it has the usual one again. @param {string} title */
export function nameGrammar(title) {
  state.ownTitle = cleanTitle(title);
  emit("titled");
}
/** The name of a grammar that the author has not named: that of its example, until another text took its place. */
export const usualTitle = () => (state.own && !state.example.exercise ? OWN_TITLE : (state.example?.title ?? ""));
export const titleNow = () => state.ownTitle || usualTitle();
export const nameNow = () => (state.own ? "" : (state.example?.name ?? ""));
/** The beginning of the names of files: letters of any script, digits, - and _. */
export function fileNameNow() {
  const name = state.ownTitle.normalize("NFC").replace(/[^\p{L}\p{M}\p{N}_-]+/gu, "-");
  return [...name.replace(/^-+|-+$/g, "")].slice(0, 50).join("") || nameNow() || "grammar";
}

/** What a card offers to other parts once it is on the page: the run card its settings, its records and how its mask is
    asked for after some tokens, the comparison its settings. Null before, and in a replay.
    @type {{ run: { settings(): object, apply(settings: object): void, records(): { k: string }[],
      masked(count: number): { masked?: object } },
      compare: { settings(): object } }} */
export const cards = { run: notYet(), compare: notYet() };

const KERNELS =
  "First start: the engine is being compiled, once per installation, for a minute or two. " +
  "Until then answers take longer.";
let words = "";
/** Whether the server compiles its kernels; answers take longer until then. Panes that wait for one hear "kernels" with
    the words to show, at every look at the server while it compiles, and with "" at the end.
    @param {boolean} now */
export function reportCompiling(now) {
  if (!now && !words) return;
  words = now ? KERNELS : "";
  emit("kernels", words);
}
