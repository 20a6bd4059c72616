/* The prompt: a text, or the user's message of a chat, and the tokens that the model reads for it. */

import { debounce, el } from "./dom.js";
import { askServer, chatOf, on, state } from "./state.js";
import { formatNumber, glyphs } from "./tokens.js";

/** @param {HTMLElement} box @param {import("./wire").Servers["grammar"]} server */
export function createPrompt(box, server) {
  /** @type {(selector: string) => any} */
  const find = (selector) => box.querySelector(selector);
  const prompt = find("textarea.prompt"),
    system = find("textarea.system"),
    chat = find(".chat"),
    tick = chat.querySelector("input"),
    read = find(".read"),
    list = find(".reads");
  let request = 0,
    has = false; // whether the chosen model has a chat template

  /** A chat that a link holds stays visible with a model that cannot read it, so that it can be turned off. */
  function show() {
    const on = state.system !== null;
    chat.hidden = !has && !on;
    tick.checked = on;
    system.hidden = read.hidden = !on;
    prompt.placeholder = on ? "the user's message" : "the text before the model's answer";
    if (on) later();
  }

  async function tell() {
    if (!read.open || read.hidden) return;
    const asked = ++request;
    const answer = await askServer(server.read_prompt, { prompt: state.prompt, chat: chatOf(state) });
    if (asked !== request) return;
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
  const later = debounce(300, tell);

  prompt.addEventListener("input", () => {
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
  on("model", ({ chat: template }) => {
    has = Boolean(template);
    show();
  });

  return {
    /** Show the prompt of an example, with the system message of a chat or null. */
    open({ prompt: text, system: before = null }) {
      Object.assign(state, { prompt: text, system: before });
      prompt.value = text;
      system.value = before ?? "";
      show();
    },
  };
}
