// The events by which the parts of the page talk: their names, and what is sent with each. ``on`` and ``emit`` of
// state.js are typed by this list.

import type { GrammarText } from "./state";
import type { Answer, Compiled, Edge, Example, Models, Picture, Span, Step, Stop, TreeNode, Turn, Why } from "./wire";

/** What replaces a piece of the grammar: its own span, or another one. */
export interface Fix {
  fix: string | null;
  start?: number;
  end?: number;
  fix_at?: Span | null;
}
/** A text that the grammar is to accept or to reject. */
export interface ExpectedTest {
  text: string;
  expect: string | null;
}
/** The states and edges that a text leads to in a drawn machine. */
export interface MachineStates {
  states: string[];
  edges: number[];
  inside: number[];
}
/** A grammar with what is open beside it: an example of the gallery, a draft, a link, a lesson's or an exercise's.
    ``from`` says which; ``first``: it is what the page begins with. */
export interface OpenedExample extends Omit<Partial<Example>, "settings"> {
  settings?: Record<string, unknown>;
  options?: GrammarText["options"];
  hole?: GrammarText["hole"];
  ownTitle?: string;
  system?: string | null;
  tests?: ExpectedTest[];
  tab?: string;
  from?: string;
  first?: boolean;
  draft?: boolean;
  edited?: boolean;
  exercise?: string;
  compare?: Record<string, unknown>;
}
/** A run that was made elsewhere, as a branch. */
export interface AdoptedRun {
  how: string;
  method?: string;
  steps: Step[];
  served?: string;
  settings?: Record<string, unknown>;
  outcome?: Pick<Stop, "k" | "reason" | "words" | "good">;
  prompt?: string;
  system?: string | null;
}

export interface EventMap {
  /** The page begins: all parts are there and have their look. */
  ready: [];
  /** Light or dark. */
  theme: [isDark: boolean];
  /** Another view is wanted; another view is shown. */
  look: [view: string];
  view: [view: string | null];
  help: [];
  /** The state of the model and those that can be chosen, with the name of the chosen one. */
  model: [state: Models & { name: string }];
  /** The server does not answer for a while; it is busy with this number of questions. */
  "slow answer": [];
  busy: [waiting: number];
  /** The engine is being compiled: the words that say so, or nothing at the end. */
  kernels: [words: string];

  /** A grammar is to be opened; it is open. */
  open: [example: OpenedExample];
  example: [example: OpenedExample];
  /** The name of the grammar changed; the draft was kept, and when; the named drafts changed. */
  titled: [];
  draft: [draft: { when: number; open: boolean } | null];
  drafts: [drafts: { name: string; when: number }[]];
  /** Another notation is chosen for what is written. */
  switch: [notation: string];
  /** The text of the grammar or the prompt changed. */
  typed: [];
  /** The text is to be replaced, and then run, or its last run shown again. */
  rewrite: [wanted: { text: string; run?: boolean; restore?: boolean }];
  "compile now": [];
  compiling: [];
  compiled: [grammar: Compiled & GrammarText & { example: string }];
  fix: [problem: Fix];
  "fix all": [problems: Fix[]];
  /** A JSON Schema is to be read without a keyword. */
  "leave out": [keyword: string];
  "add tests": [tests: ExpectedTest[]];
  "focus editor": [how?: { end: boolean }];
  /** A place of the grammar is to be shown. */
  place: [span: { start: number; end: number }];

  /** Another picture is shown, or is to be looked at in another way. */
  drawn: [answer: Answer<Picture>];
  looks: [looks: Record<string, unknown>];
  "open rule": [name: string];
  "light machine": [states: MachineStates | null];
  /** The tree of a text is to be shown; a node of the tree is selected. */
  "show tree": [text: string];
  "tree node": [node: (TreeNode & { test: string | null }) | null];

  /** A token of the run is selected; rules and pieces of the grammar that are read there. */
  step: [step: Step | null];
  "live rules": [names: string[]];
  "read in": [spans: Span[]];
  walk: [by: number];
  finished: [];
  /** Why a token or a text is forbidden is shown. */
  why: [record: Why | null];
  /** A text is to be read as a run; a run from elsewhere becomes a branch. */
  "read text": [text: string];
  adopt: [run: AdoptedRun];

  "open lesson": [name: string];
  /** An exercise was solved; with an empty key, solved ones were forgotten. */
  "exercise solved": [key: string];
  "make course": [];
}
