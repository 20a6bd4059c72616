/* What a reader gives to a film: a text that its machine reads, or the tokens that follow each other. */

import { createButton, debounce, el, roving, tabStop, VERBATIM } from "./dom.js";
import { halt } from "./film-player.js";
import { sayFault } from "./film-state.js";
import { whyNodes } from "./why.js";

/** @import { Film } from "./film-state" */
/** @import { Answer, FilmChoice, FilmFrame, Refusal, Why } from "./wire" */

/** A field for a text. @param {Film} film */
export function showField(film) {
  const input = el("input", {
    maxlength: "60",
    ...VERBATIM,
    placeholder: "Type a text of your own",
    "aria-label": "A text for the machine to read",
  });
  input.addEventListener(
    "input",
    debounce(90, () => film.load(input.value || null, true)),
  );
  film.hand.replaceChildren(input);
}

/** @param {FilmChoice} choice @param {() => void} onclick */
const createChoice = ({ text, ok, why }, onclick) =>
  createButton(
    text,
    {
      class: ok ? "token" : "token no",
      title: why || null,
      "aria-label": ok ? `take ${text}` : `${text}, forbidden: ${why}`,
    },
    onclick,
  );

/** The tokens that may follow a frame, as buttons; a forbidden one says why.
    @param {Film} film @param {FilmFrame} frame */
export function showChoices(film, { choices, rows }) {
  const { answer, hand } = film,
    again = (/** @type {Record<string, unknown>} */ properties) =>
      createButton("Begin again", properties, () => film.load([], true));
  if (!choices.length) {
    hand.replaceChildren(again({}));
    return;
  }
  const taken = answer.taken.slice(0, rows.find((row) => row.name === "tokens")?.chips.length ?? 0);
  const focused = hand.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
  const buttons = choices.map((choice) =>
    createChoice(choice, () => (choice.ok ? film.load([...taken, choice.id], true) : refuse(film, choice, taken))),
  );
  buttons.push(again({ class: "link", hidden: !taken.length }));
  hand.replaceChildren(el("span.what", "take"), ...buttons);
  const stop = buttons.find((button) => button.textContent === focused) ?? buttons[0];
  tabStop(buttons, stop);
  if (focused !== undefined) stop.focus();
}

/** A forbidden token: immediately a sentence, then all that is known of it.
    @param {Film} film @param {FilmChoice} choice @param {number[]} taken */
function refuse(film, { id, text, why }, taken) {
  const { why: question } = film;
  halt(film);
  sayFault(film, `${text}: ${why}`);
  if (question) film.latest.run(async (ask) => explain(film, await ask(question, { given: taken, token: id })));
}

/** @param {Film} film @param {Answer<Why | Refusal>} answer */
function explain({ answer: { frames }, index, reason, framed }, answer) {
  if (!answer.ok) return;
  reason.replaceChildren(whyNodes(answer));
  // its links go to the editor, which has another grammar: here they are text
  for (const link of reason.querySelectorAll("button"))
    link.replaceWith(el("span", { class: link.className }, ...link.childNodes));
  reason.hidden = false;
  framed(frames[index], answer.spans);
}

/** @param {Film} film */
export const listenToChoices = ({ hand }) => roving(hand, (chosen) => tabStop(hand.querySelectorAll("button"), chosen));
