/* Runs are kept as branches: a run, its forks and rewinds, and tokens chosen by the reader. Chips select a branch;
   none is lost until another example is opened. A branch is records and where it came from. */

import { bound } from "./bound.js";
import { createButton, editName, el, scrollIntoRow } from "./dom.js";
import { stagesOf } from "./stages.js";
import { grammarKey, grammarOf, state } from "./state.js";
import { formatNumber } from "./tokens.js";

/** @import { GrammarText } from "./state.js" */
/** @import { Alone, Step, Stop, Turn } from "./wire" */

/** What masks the tokens of a branch.
    @typedef {{ constraint?: string, lookahead?: unknown, small_tokens?: boolean, monitor?: string, draft?: string,
      reasoning?: object | null }} BranchMethod */

/** @typedef {{ max_tokens: number, finish?: boolean, [name: string]: unknown }} RunSettings
    @typedef {Partial<Stop> & Pick<Stop, "k" | "reason" | "words" | "good">} Outcome why there is no further token */

/** ``from`` and ``at``: the branch and the token where it was forked; ``how``: what began it; ``method``: the engine
    that wrote a run of a comparison; ``served``: the model that wrote it; ``alone``: its text without a mask.
    @typedef {GrammarText & BranchMethod & {
      id: number, name?: string, steps: (Step & { hand?: boolean })[], outcome: Outcome | null,
      next: Turn | null, from: number | null, at: number, how: string, method?: string, served?: string,
      settings?: RunSettings, prompt: string, system: string | null, model: string, alone?: Alone,
    }} Branch */

/** @param {BranchMethod} branch @returns {BranchMethod} */
export const methodOf = ({ constraint, lookahead, small_tokens, monitor, draft, reasoning }) => ({
  constraint,
  lookahead,
  small_tokens,
  monitor,
  draft,
  reasoning,
});

/** Characters of a branch's name at most; milliseconds between the presses of a double click. */
const LONGEST_NAME = 40,
  TWICE = 450;
const CLOSED = ["accepted", "forced end", "dead end", "model full", "read"];
/** A run that was refused before its first token: the next one would be refused with the same words.
    @param {Branch} branch */
const refused = (branch) => branch.outcome?.reason === "error" && !branch.steps.length;
/** Whether tokens can follow. @param {Branch | null} branch */
const isOpen = (branch) => branch !== null && !CLOSED.includes(branch.outcome?.reason ?? "") && !refused(branch);

/** A branch as the lines of a recorded run; its head has the settings. @param {Branch} branch @param {object} asked */
function records(branch, asked) {
  const named = branch.name ? { name: branch.name } : {};
  const head = {
    k: "head",
    run: `branch ${branch.id}`,
    ...named,
    ...asked,
    ...branch.settings,
    prefix: [],
    how: branch.how,
  };
  return [
    head,
    { k: "start", model: branch.served || branch.model || "builtin" },
    ...branch.steps,
    ...(branch.outcome ? [branch.outcome] : []),
  ];
}

/** The other way round: the lines of a recorded run, as a branch keeps it. */
function read(lines) {
  const records = lines
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
    one = (kind) => records.find((each) => each.k === kind);
  const { temperature, seed, max_tokens, small_tokens, finish, monitor, name, alone, ...head } = one("head") ?? {};
  return {
    ...(Array.isArray(alone?.tokens) ? { alone } : {}),
    ...(typeof name === "string" && name ? { name: name.slice(0, LONGEST_NAME) } : {}),
    settings: { temperature, seed, max_tokens, small_tokens, finish, monitor, ...stagesOf(head) },
    steps: records.filter((each) => each.k === "step"),
    outcome: one("stop") ?? null,
    served: one("start")?.model,
  };
}

/** ``shown``: the branch that is shown; ``pressed``: the last press on a chip.
    @typedef {{
      chips: HTMLElement, kept: Branch[], shown: Branch | null, pressed: { branch: Branch | null, time: number },
      open: (branch: Branch) => void,
    }} Branches */

/** The name of a branch that a reader has not named. @param {Branch} branch */
function usualName({ how, from, at, method, constraint }) {
  if (from) return `${how === "rewind" ? "rewound to" : "fork at"} ${at + 1}`;
  const names = { recorded: "recorded", hand: "by hand", read: "read" },
    methods = { automaton: "", unconstrained: "no mask" };
  return names[how] ?? method ?? methods[constraint ?? ""] ?? constraint ?? "";
}

/** @param {Branch} branch */
const isCurrent = (branch) => grammarKey(branch) === grammarKey(state);

/** @param {Branch} branch */
const titleOf = (branch) =>
  [
    branch.name ?? "",
    branch.small_tokens ? "small tokens" : "",
    branch.monitor ? `monitor ${branch.monitor}` : "",
    branch.draft ? `draft model ${branch.draft}` : "",
    branch.reasoning ? "reasoning" : "",
    branch.settings?.finish ? "must finish" : "",
    branch.from ? `${usualName(branch)}, from ${branch.from}` : usualName(branch) || "a run",
    `${formatNumber(branch.steps.length)} tokens`,
    branch.outcome?.words ?? "not ended",
    isCurrent(branch) ? "" : "of an earlier text of the grammar",
  ]
    .filter(Boolean)
    .join(" · ");

/** @param {Branches} branches @param {Branch} branch */
function createChip(branches, branch) {
  const label = branch.name ?? usualName(branch);
  return createButton(
    [String(branch.id), label ? el("span", ` ${label}`) : null],
    {
      class: isCurrent(branch) ? "branch" : "branch old",
      "aria-pressed": String(branch === branches.shown),
      title: `${titleOf(branch)} · F2 or a double click renames it`,
      "aria-keyshortcuts": "F2",
    },
    (event) => press(branches, branch, event.timeStamp),
  );
}

/** @param {Branches} branches */
function draw(branches) {
  const { chips, kept } = branches;
  const isFocused = chips.contains(document.activeElement);
  chips.replaceChildren(...kept.map((branch) => createChip(branches, branch)));
  const shown = chips.querySelector("[aria-pressed=true]");
  if (isFocused) shown?.focus();
  if (shown) scrollIntoRow(chips, shown);
}

/** Open a branch. Its chip is made anew then, so the browser sees no double click: a second press renames.
    @param {Branches} branches @param {Branch} branch @param {number} time */
function press(branches, branch, time) {
  const again = branches.pressed.branch === branch && time - branches.pressed.time < TWICE;
  branches.pressed = { branch, time };
  if (again) rename(branches, branch);
  else branches.open(branch);
}

/** @param {Branches} branches @param {Branch} branch */
const chipOf = ({ chips, kept }, branch) =>
  /** @type {HTMLButtonElement | undefined} */ (chips.children[kept.indexOf(branch)]);

/** Edit the name of a branch in its chip; an empty one gives it back its usual name.
    @param {Branches} branches @param {Branch} branch */
function rename(branches, branch) {
  const chip = chipOf(branches, branch),
    usual = usualName(branch);
  if (!chip || chip.disabled) return;
  const written = { value: branch.name ?? usual, longest: LONGEST_NAME, label: `Name of branch ${branch.id}` };
  editName(chip, written, (name, focused) => {
    if (name !== null) branch.name = name && name !== usual ? name : undefined;
    draw(branches);
    if (focused) chipOf(branches, branch)?.focus();
  });
}

/** Keep a new branch and show it. @param {Branches} branches @param {Partial<Branch>} given @returns {Branch} */
function add(branches, given) {
  const usual = { steps: [], outcome: null, next: null, from: null, at: 0, how: "run" };
  const branch = /** @type {Branch} */ ({ id: branches.kept.length + 1, ...usual, ...given });
  branches.kept.push(branch);
  show(branches, branch);
  return branch;
}

/** @param {Branches} branches @param {Branch | null} branch */
function show(branches, branch) {
  branches.shown = branch;
  draw(branches);
}

/** The tokens before one of the shown branch, as a new branch.
    @param {Branches} branches @param {number} index @param {string} how */
function cut(branches, index, how) {
  const { id, steps, prompt, system, model, ...others } = /** @type {Branch} */ (branches.shown);
  const before = { from: id, at: index, steps: steps.slice(0, index) };
  return add(branches, { how, ...before, ...grammarOf(others), prompt, system, model, ...methodOf(others) });
}

/** @param {Branches} branches */
function listen(branches) {
  branches.chips.addEventListener("keydown", (event) => {
    const branch = branches.kept.find((each) => chipOf(branches, each) === document.activeElement);
    if (event.key !== "F2" || !branch) return;
    event.preventDefault();
    rename(branches, branch);
  });
}

/** ``read`` is null where no text can be read.
    @param {HTMLElement} box
    @param {{ open: (branch: Branch) => void, begin: () => void, read: (() => void) | null }} doors */
export function createBranches(box, { open, begin, read: readText }) {
  const chips = el("span.chips", { role: "group", "aria-label": "Runs and branches" });
  const button = (name, title, onclick, label) => createButton(label, { class: name, title }, onclick);
  const hand = "A new branch at the prompt: choose each token yourself, or press Step",
    reads = "Score each token of your own text before and after the mask";
  box.replaceChildren(chips, button("bare", hand, begin, "+ by hand"));
  if (readText) box.append(button("bare readbutton", reads, readText, "+ read a text"));
  /** @type {Branches} */
  const branches = { chips, kept: [], shown: null, pressed: { branch: null, time: 0 }, open };
  listen(branches);
  return {
    ...bound(branches, { add, cut, show, draw }),
    now: () => branches.shown,
    all: () => branches.kept,
    clear() {
      branches.kept = [];
      show(branches, null);
    },
    isOpen,
    records,
    read,
    lock(locked) {
      for (const each of box.querySelectorAll("button")) each.disabled = locked;
    },
  };
}
