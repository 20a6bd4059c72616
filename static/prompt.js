/* The prompt: a text, or the user's message of a chat, and the tokens that the model reads for it.

   A prompt that was not edited belongs to the grammar it was opened with. When another text replaces the whole grammar,
   or its title changes, the prompt is made from the title. A prompt that was edited stays. */

import { createLatest } from "./ask.js";
import { debounce, el } from "./dom.js";
import { notations } from "./notations.js";
import { chatOf, on, state, wholeOf } from "./state.js";
import { formatNumber, glyphs } from "./tokens.js";

const LONGEST = 100; // characters of a description in a prompt
/** Tokens that one character becomes at most, and those that the model adds to a text or to a chat. */
const TOKENS_A_CHARACTER = 4,
  ADDED = { text: 64, chat: 512 };

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
    @param {any} held what holds a grammar, as an example does @returns {string | null} */
export function promptFor(held) {
  const { text, notation, options } = wholeOf(held);
  if (notation === "json_schema") {
    const title = titleOf(text);
    return title === null ? (text.trim() ? null : "") : title ? `${title} in JSON: ` : "JSON: ";
  }
  if (notation !== "dataclass") return "";
  const name = [...text.matchAll(/^class\s+(\w+)/gm)].pop()?.[1];
  return name ? `${name} ${options.style === "json" ? "in JSON" : "as a Python dataclass"}: ` : "";
}

/** @param {HTMLElement} box @param {import("./wire").Servers["grammar"]} server */
export function createPrompt(box, server) {
  /** @type {(selector: string) => any} */
  const find = (selector) => box.querySelector(selector);
  const prompt = find("textarea.prompt"),
    system = find("textarea.system"),
    chat = find(".chat"),
    tick = chat.querySelector("input"),
    read = find(".read"),
    list = find(".reads"),
    toolong = find(".toolong");
  const latest = createLatest();
  let has = false, // whether the chosen model has a chat template
    edited = false,
    replaced = false, // whether another grammar took the place of the opened one
    opened = /** @type {any} */ (null),
    most = /** @type {number | null} */ (null), // tokens that the model reads, if that is known and limited
    hole = state.hole; // that of the last question

  const MADE = "Made from the grammar; edit it, and it stays";
  function write(text) {
    if (text === state.prompt) return;
    state.prompt = prompt.value = text;
    later();
  }

  /** A chat that a link holds stays visible with a model that cannot read it, so that it can be turned off. */
  function show() {
    const on = state.system !== null;
    chat.hidden = !has && !on;
    tick.checked = on;
    system.hidden = read.hidden = !on;
    prompt.placeholder = on ? "the user's message" : "the text before the model's answer";
    later();
  }

  /** Whether the prompt can have more tokens than the model reads. */
  function mayBeTooLong() {
    const characters = [state.prompt, state.system ?? "", state.hole?.prefix ?? ""].join("").length;
    return most !== null && characters * TOKENS_A_CHARACTER + ADDED[state.system === null ? "text" : "chat"] > most;
  }
  /** No run begins for this reason; none for an empty one. */
  function refuse(reason) {
    state.tooLong = toolong.textContent = reason && `${reason[0].toUpperCase()}${reason.slice(1)}.`;
    toolong.hidden = !reason;
  }
  function tell() {
    const open = read.open && !read.hidden;
    hole = state.hole;
    if (!open && !mayBeTooLong()) {
      latest.drop();
      refuse("");
      return;
    }
    latest.run(async (ask) => {
      const answer = await ask(server.read_prompt, { prompt: state.prompt, chat: chatOf(state), hole });
      refuse(answer.ok ? answer.too_long : "");
      if (open) showTokens(answer);
    });
  }
  function showTokens(answer) {
    if (!answer.ok) {
      list.replaceChildren(el("p", { class: "warn" }, answer.why || answer.fault));
      return;
    }
    const { tokens, count, most } = answer;
    const rest = count - tokens.length;
    list.replaceChildren(
      el(
        "p",
        { class: "quiet" },
        `${formatNumber(count)} tokens`,
        most ? ` of at most ${formatNumber(most)}; ` : "; ",
        el("span", { class: "special" }, "special tokens"),
        " come from the template",
      ),
      el(
        "p",
        { class: "pieces" },
        ...tokens.map((token) => el("span", { class: token.special ? "special" : "" }, glyphs(token))),
        rest ? `… and ${formatNumber(rest)} more` : "",
      ),
    );
  }
  const soon = debounce(300, tell);
  /** Count the tokens again. Until the answer, a run may begin: the server checks the prompt, too. */
  function later() {
    state.tooLong = "";
    soon();
  }

  prompt.addEventListener("input", () => {
    edited = true;
    prompt.title = "";
    state.prompt = prompt.value;
    later();
  });
  system.addEventListener("input", () => {
    state.system = system.value;
    later();
  });
  tick.addEventListener("change", () => {
    state.system = tick.checked ? system.value : null;
    show();
    (tick.checked ? system : prompt).focus();
  });
  read.addEventListener("toggle", tell);
  on("model", (model) => {
    has = Boolean(model.chat);
    most = model.most ?? null;
    show();
  });
  on("typed", () => {
    if (hole !== state.hole) later();
  });

  return {
    /** Show the prompt of an example, with the system message of a chat or null. That of a draft or a link is a
        person's own, unless it was made here. */
    open(example) {
      const { prompt: text, system: before = null, notation, from } = example;
      Object.assign(state, { prompt: text, system: before });
      opened = example;
      replaced = false;
      const made = ["", promptFor(example), notations[notation].begin.prompt];
      edited = example.edited ?? (["draft", "link"].includes(from) && !made.includes(text));
      prompt.value = text;
      prompt.title = "";
      system.value = before ?? "";
      show();
    },
    /** The grammar has another text, or another notation; ``all`` if it replaced the whole text. Whether another
        grammar than the opened one is there. */
    follow(all = false) {
      if (!opened) return false;
      const same = state.notation === opened.notation && state.text.trimEnd() === opened.text.trimEnd();
      replaced = !same && (replaced || all);
      if (!edited) this.make();
      return replaced;
    },
    /** The prompt for the grammar, from its title. */
    make() {
      const made = promptFor(state),
        before = promptFor(opened);
      if (made === null) return;
      const follows = replaced || (before !== null && made !== before);
      prompt.title = follows && made ? MADE : "";
      write(follows ? made : opened.prompt);
    },
    /** What is kept of it while another notation is open. */
    kept: () => ({ prompt: state.prompt, system: state.system, edited }),
  };
}
