/* Runs are kept as branches: a run, its forks and rewinds, and tokens chosen by the reader. Chips select a branch;
   none is lost until another example is opened. A branch is records and where it came from. */

import { editName, el, scrollIntoRow } from "./dom.js";
import { stagesOf } from "./stages.js";
import { chatOf, grammarKey, grammarOf, state } from "./state.js";
import { formatNumber, hexOf, readOf } from "./tokens.js";
import { whyNodes } from "./why.js";
import { createWhyLight } from "./why-light.js";

/** @import { Server } from "./wire" */

/** Characters of a branch's name at most; milliseconds between the presses of a double click. */
const LONGEST_NAME = 40,
  TWICE = 450;
const CLOSED = ["accepted", "forced end", "dead end", "model full", "read"];
/** A run that was refused before its first token: the next one would be refused with the same words. */
const refused = (branch) => branch.outcome?.reason === "error" && !branch.steps.length;
/** Whether tokens can follow. */
const isOpen = (branch) => Boolean(branch) && !CLOSED.includes(branch.outcome?.reason) && !refused(branch);

/** A branch as the lines of a recorded run; its head has the settings. */
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

export function createBranches(box, doors) {
  const chips = el("span", { class: "chips", role: "group", "aria-label": "Runs and branches" });
  const begin = el(
    "button",
    {
      type: "button",
      class: "bare",
      title: "A new branch at the prompt: choose each token yourself, or press Step",
      onclick: () => doors.begin(),
    },
    "+ by hand",
  );
  const reader = el(
    "button",
    {
      type: "button",
      class: "bare readbutton",
      title: "Score each token of your own text before and after the mask",
      onclick: () => doors.read(),
    },
    "+ read a text",
  );
  box.replaceChildren(chips, begin, ...(doors.read ? [reader] : []));
  let kept = [],
    now = /** @type {any} */ (null),
    pressed = { branch: null, time: 0 };

  const way = (constraint) => ({ automaton: "", unconstrained: "no mask" })[constraint] ?? constraint ?? "";
  const where = (branch) =>
    branch.from
      ? `${branch.how === "rewind" ? "rewound to" : "fork at"} ${branch.at + 1}`
      : branch.how === "recorded"
        ? "recorded"
        : ["hand", "read"].includes(branch.how)
          ? { hand: "by hand", read: "read" }[branch.how]
          : (branch.method ?? way(branch.constraint));
  const title = (branch) =>
    [
      branch.name ?? "",
      branch.small_tokens ? "small tokens" : "",
      branch.monitor ? `monitor ${branch.monitor}` : "",
      branch.draft ? `draft model ${branch.draft}` : "",
      branch.reasoning ? "reasoning" : "",
      branch.settings?.finish ? "must finish" : "",
      branch.from ? `${where(branch)}, from ${branch.from}` : where(branch) || "a run",
      `${formatNumber(branch.steps.length)} tokens`,
      branch.outcome?.words ?? "not ended",
      grammarKey(branch) === grammarKey(state) ? "" : "of an earlier text of the grammar",
    ]
      .filter(Boolean)
      .join(" · ");

  function draw() {
    const held = chips.contains(document.activeElement);
    chips.replaceChildren(
      ...kept.map((branch) => {
        const chip = el(
          "button",
          {
            type: "button",
            class: `branch${grammarKey(branch) === grammarKey(state) ? "" : " old"}`,
            "aria-pressed": String(branch === now),
            title: `${title(branch)} · F2 or a double click renames it`,
            "aria-keyshortcuts": "F2",
            onclick: (event) => press(branch, event.timeStamp),
          },
          String(branch.id),
        );
        const label = branch.name ?? where(branch);
        if (label) chip.append(el("span", {}, ` ${label}`));
        return chip;
      }),
    );
    const shown = chips.querySelector("[aria-pressed=true]");
    if (held) shown?.focus();
    if (shown) scrollIntoRow(chips, shown);
  }
  chips.addEventListener("keydown", (event) => {
    const at = [...chips.children].indexOf(document.activeElement);
    if (event.key !== "F2" || at < 0) return;
    event.preventDefault();
    rename(kept[at]);
  });

  /** Open a branch. Its chip is made anew then, so the browser sees no double click: a second press renames. */
  function press(branch, time) {
    const again = pressed.branch === branch && time - pressed.time < TWICE;
    pressed = { branch, time };
    if (again) rename(branch);
    else doors.open(branch);
  }

  /** Edit the name of a branch in its chip; an empty one gives it back its automatic name. */
  function rename(branch) {
    const chip = chips.children[kept.indexOf(branch)];
    if (!chip || chip.disabled) return;
    const written = {
      value: branch.name ?? where(branch),
      longest: LONGEST_NAME,
      label: `Name of branch ${branch.id}`,
    };
    editName(chip, written, (name, focused) => {
      if (name !== null) branch.name = name && name !== where(branch) ? name : undefined;
      draw();
      if (focused) chips.children[kept.indexOf(branch)]?.focus();
    });
  }

  /** Keep a new branch and make it the one shown. */
  function add(given) {
    const branch = {
      id: kept.length + 1,
      steps: [],
      outcome: null,
      next: null,
      from: null,
      at: 0,
      how: "run",
      ...given,
    };
    kept.push(branch);
    now = branch;
    draw();
    return branch;
  }

  return {
    add,
    /** The tokens before one of the branch that is shown, as a new branch. */
    cut(index, how) {
      const { id, steps, prompt, system, model, constraint, lookahead, small_tokens, monitor, draft, reasoning } = now;
      return add({
        how,
        from: id,
        at: index,
        steps: steps.slice(0, index),
        ...grammarOf(now),
        prompt,
        system,
        model,
        constraint,
        lookahead,
        small_tokens,
        monitor,
        draft,
        reasoning,
      });
    },
    show(branch) {
      now = branch;
      draw();
    },
    now: () => now,
    all: () => kept,
    clear() {
      kept = [];
      now = null;
      draw();
    },
    draw,
    isOpen,
    records,
    read,
    lock(locked) {
      for (const button of box.querySelectorAll("button")) button.disabled = locked;
    },
  };
}

/* The run card's requests to the server. Each holds the whole run of a branch: grammar, prompt and tokens, so the
   server keeps nothing of a visitor. */

const ids = (branch, count = branch.steps.length) => branch.steps.slice(0, count).map((step) => step.id);
const soFar = (branch, count) =>
  branch.steps
    .slice(0, count)
    .map((step) => readOf(step) ?? "")
    .join("");

/** The methods that allow whatever the grammar allows. */
const EXACT = ["automaton", "composed", "unconstrained"];

const FREE =
  "The text up to the closing marker is free. Only special tokens are forbidden there, and after the last token of " +
  "the budget all that do not lead to the marker.";

/** @param {Server} server @param {() => Record<string, any>} settings */
export function createQuestions(server, settings) {
  /** A branch is asked about under its own grammar, prompt and model, with the knobs as they stand. */
  const about = (
    { prompt, system, model, constraint, lookahead, small_tokens, monitor, draft, reasoning, ...held },
    prefix,
  ) => ({
    ...settings(),
    hole: null,
    ...grammarOf(held),
    prompt,
    chat: chatOf({ system }),
    model,
    constraint,
    lookahead,
    small_tokens: Boolean(small_tokens),
    monitor: monitor ?? "",
    draft: draft ?? "",
    reasoning: reasoning ?? null,
    prefix,
  });
  /** Whether a position is in the free part, where the grammar forbids nothing. */
  const free = (branch, index) => (branch.steps[index] ?? branch.next)?.free !== undefined;

  async function explain(ask, branch, index, tokens) {
    if (!branch || free(branch, index)) return null;
    const answer = await ask(server.explain_tokens, {
      ...about(branch, []),
      so_far: soFar(branch, index),
      tokens: tokens.map(hexOf),
    });
    return answer.reasons ?? null;
  }

  /** Why a token is forbidden. */
  const reason = (ask, branch, index, candidate) =>
    free(branch, index)
      ? { ok: false, why: FREE }
      : ask(server.why, { ...about(branch, []), so_far: soFar(branch, index), token: hexOf(candidate) });

  const light = createWhyLight();
  /** The whole reason a token is forbidden, as a panel. */
  async function why(ask, branch, index, candidate) {
    const answer = await reason(ask, branch, index, candidate);
    if (!answer.ok) return el("p", { class: "quiet" }, answer.why || answer.fault || "no reason is known");
    if (grammarKey(branch) === grammarKey(state)) light.show(answer);
    return whyNodes(answer);
  }

  /** The settings with which a picture computes a run's own mask after ``count`` tokens; empty for the exact mask. */
  function masked(branch, count) {
    const { finish, max_tokens } = branch.settings ?? settings();
    const { constraint, lookahead, small_tokens, monitor, reasoning, prompt, chat, prefix } = about(
      branch,
      ids(branch, count),
    );
    const narrows = !EXACT.includes(constraint) || small_tokens || monitor || reasoning || finish;
    const asked = { constraint, lookahead, small_tokens, monitor, reasoning, finish, max_tokens, prompt, chat, prefix };
    return narrows ? { masked: asked } : {};
  }

  return {
    about: (branch) => about(branch, ids(branch)),
    masked,
    unlit: light.hide,
    take: (ask, branch, token) => ask(server.take_token, { ...about(branch, ids(branch)), token }),
    turn: (ask, branch) => ask(server.turn, about(branch, ids(branch))),
    read: (ask, branch, text) => ask(server.read_text, { ...about(branch, []), read: text }),
    search: (ask, branch, index, query) => ask(server.find_tokens, { ...about(branch, ids(branch, index)), query }),
    explain,
    reason,
    why,
  };
}
