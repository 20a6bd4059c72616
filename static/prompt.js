/* The prompt: a text, or the user's message of a chat, and the tokens that the model reads for it.

   A prompt that was not edited belongs to the grammar it was opened with. When another text replaces the whole grammar,
   or its title changes, the prompt is made from the title. A prompt that was edited stays. */

import { createLatest } from "./ask.js";
import { debounce, el } from "./dom.js";
import { notations } from "./notations.js";
import { chatOf, on, state, wholeOf } from "./state.js";
import { formatNumber, glyphs } from "./tokens.js";

/** @import { GrammarText } from "./state.js" */
/** @import { Server } from "./wire" */
/** @import { OpenedExample } from "./events" */

/** ``has``: whether the chosen model has a chat template; ``most``: the tokens that it reads, if that is known and
    limited; ``hole``: that of the last question; ``edited``: whether the prompt is a person's own; ``replaced``:
    whether another grammar than the opened one is there.
    @typedef {{
      edited: boolean, replaced: boolean, opened: OpenedExample | null,
      prompt: HTMLTextAreaElement, system: HTMLTextAreaElement, chat: HTMLElement, tick: HTMLInputElement,
      read: HTMLDetailsElement, list: HTMLElement, toolong: HTMLElement,
      latest: ReturnType<typeof createLatest>, has: boolean, most: number | null,
      hole: GrammarText["hole"], soon: ReturnType<typeof debounce>, server: Server,
    }} PromptCard */

const LONGEST = 100; // characters of a description in a prompt

/** Tokens that one character becomes at most, and those that the model adds to a text or to a chat. */
const TOKENS_A_CHARACTER = 4;
const ADDED = { text: 64, chat: 512 };

/** What a schema calls its values.
    @returns {string | null} null for a text that is no schema */
function titleOf(text) {
  let schema;
  try {
    schema = JSON.parse(text);
  } catch {
    return null;
  }
  // Pydantic writes a model that refers to itself as a reference to its definition
  const [, part, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(schema?.$ref) ?? [];
  const meant = { ...schema?.[part]?.[name], ...schema };
  const words = [meant.title, meant.description].find((each) => typeof each === "string" && each.trim()) ?? "";
  const [first] = words.trim().split(/\.(?=\s|$)|\n/);
  return first.length <= LONGEST ? first : "";
}

/** The prompt for a grammar by what it says of itself; null while that cannot be read.
    @param {Partial<GrammarText>} held what holds a grammar, as an example does @returns {string | null} */
function promptFor(held) {
  const { text, notation, options } = wholeOf(held);
  if (notation === "json_schema") {
    const title = titleOf(text);
    return title === null ? (text.trim() ? null : "") : title ? `${title} in JSON: ` : "JSON: ";
  }
  if (notation !== "dataclass") return "";
  const name = [...text.matchAll(/^class\s+(\w+)/gm)].pop()?.[1];
  return name ? `${name} ${options.style === "json" ? "in JSON" : "as a Python dataclass"}: ` : "";
}

/** @param {PromptCard} card */
function write(card, text) {
  if (text === state.prompt) return;
  state.prompt = card.prompt.value = text;
  later(card);
}

/** A chat that a link holds stays visible with a model that cannot read it, so that it can be turned off.
    @param {PromptCard} card */
function show(card) {
  const on = state.system !== null;
  card.chat.hidden = !card.has && !on;
  card.tick.checked = on;
  card.system.hidden = card.read.hidden = !on;
  card.prompt.placeholder = on ? "the user's message" : "the text before the model's answer";
  later(card);
}

/** Whether the prompt can have more tokens than the model reads. @param {PromptCard} card */
function mayBeTooLong(card) {
  const characters = [state.prompt, state.system ?? "", state.hole?.prefix ?? ""].join("").length;
  return (
    card.most !== null && characters * TOKENS_A_CHARACTER + ADDED[state.system === null ? "text" : "chat"] > card.most
  );
}

/** No run begins for this reason; none for an empty one. @param {PromptCard} card */
function refuse(card, reason) {
  state.tooLong = card.toolong.textContent = reason && `${reason[0].toUpperCase()}${reason.slice(1)}.`;
  card.toolong.hidden = !reason;
}

/** @param {PromptCard} card */
function tell(card) {
  const open = card.read.open && !card.read.hidden;
  card.hole = state.hole;
  if (!open && !mayBeTooLong(card)) {
    card.latest.drop();
    refuse(card, "");
    return;
  }
  card.latest.run(async (ask) => {
    const answer = await ask(card.server.read_prompt, { prompt: state.prompt, chat: chatOf(state), hole: card.hole });
    refuse(card, answer.ok ? answer.too_long : "");
    if (open) showTokens(card, answer);
  });
}

/** @param {PromptCard} card */
function showTokens(card, answer) {
  if (!answer.ok) {
    card.list.replaceChildren(el("p.warn", answer.why));
    return;
  }
  const { tokens, count, most } = answer;
  const rest = count - tokens.length;
  card.list.replaceChildren(
    el(
      "p.quiet",
      `${formatNumber(count)} tokens`,
      most ? ` of at most ${formatNumber(most)}; ` : "; ",
      el("span.special", "special tokens"),
      " come from the template",
    ),
    el(
      "p.pieces",
      ...tokens.map((token) => el("span", { class: token.special ? "special" : "" }, glyphs(token))),
      rest ? `… and ${formatNumber(rest)} more` : "",
    ),
  );
}

/** Count the tokens again. Until the answer, a run may begin: the server checks the prompt, too.
    @param {PromptCard} card */
function later(card) {
  state.tooLong = "";
  card.soon();
}

/** @param {PromptCard} card */
function listen(card) {
  const { prompt, system, tick } = card;
  prompt.addEventListener("input", () => {
    card.edited = true;
    prompt.title = "";
    state.prompt = prompt.value;
    later(card);
  });
  prompt.addEventListener("blur", () => {
    prompt.scrollTop = 0; // its first line, where the box has room for one
  });
  system.addEventListener("input", () => {
    state.system = system.value;
    later(card);
  });
  tick.addEventListener("change", () => {
    state.system = tick.checked ? system.value : null;
    show(card);
    (tick.checked ? system : prompt).focus();
  });
  card.read.addEventListener("toggle", () => tell(card));
  on("model", (model) => {
    card.has = Boolean(model.chat);
    card.most = model.most ?? null;
    show(card);
  });
  on("typed", () => {
    if (card.hole !== state.hole) later(card);
  });
}

/** Show the prompt of an example, with the system message of a chat or null. That of a draft or a link is a person's
    own, unless it was made here. @param {PromptCard} card @param {OpenedExample} example */
function open(card, example) {
  const { prompt: text = "", system: before = null, notation = "", from = "" } = example;
  Object.assign(state, { prompt: text, system: before });
  card.opened = example;
  card.replaced = false;
  const made = ["", promptFor(example), notations[notation].begin.prompt];
  card.edited = example.edited ?? (["draft", "link"].includes(from) && !made.includes(text));
  card.prompt.value = text;
  card.prompt.title = "";
  card.system.value = before ?? "";
  show(card);
}

/** The grammar has another text, or another notation; ``all`` if it replaced the whole text. Whether another grammar
    than the opened one is there. @param {PromptCard} card */
function follow(card, all = false) {
  const { opened } = card;
  if (!opened) return false;
  const same = state.notation === opened.notation && state.text.trimEnd() === opened.text?.trimEnd();
  card.replaced = !same && (card.replaced || all);
  if (!card.edited) writeMade(card, opened);
  return card.replaced;
}

const MADE = "Made from the grammar; edit it, and it stays";
/** The prompt for the grammar, from its title. @param {PromptCard} card @param {OpenedExample} opened */
function writeMade(card, opened) {
  const made = promptFor(state),
    before = promptFor(opened);
  if (made === null) return;
  const follows = card.replaced || (before !== null && made !== before);
  card.prompt.title = follows && made ? MADE : "";
  write(card, follows ? made : opened.prompt);
}

/** @param {HTMLElement} box @param {import("./wire").Server} server */
export function createPrompt(box, server) {
  const find = (selector) => box.querySelector(selector);
  /** @type {PromptCard} */
  const card = {
    server,
    prompt: find("textarea.prompt"),
    system: find("textarea.system"),
    chat: find(".chat"),
    tick: find(".chat input"),
    read: find(".read"),
    list: find(".reads"),
    toolong: find(".toolong"),
    latest: createLatest(),
    soon: debounce(300, () => tell(card)),
    has: false,
    most: null,
    hole: state.hole,
    edited: false,
    replaced: false,
    opened: null,
  };
  listen(card);
  return {
    open: (example) => open(card, example),
    follow: (all = false) => follow(card, all),
    /** What is kept of it while another notation is open. */
    kept: () => ({ prompt: state.prompt, system: state.system, edited: card.edited }),
  };
}
