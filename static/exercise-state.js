/* The state of an exercise: the one that is open, and the answers that were typed. */

import { setParameters } from "./address.js";
import { el } from "./dom.js";
import { progress } from "./exercise-shelf.js";
import { inlineMarkup } from "./inline-markup.js";
import { notations } from "./notations.js";
import { state, wholeOf } from "./state.js";
import { saved } from "./storage.js";

/** @import { createLatest } from "./ask.js" */
/** @import { createShelf } from "./exercise-shelf.js" */
/** @import { OpenedExercise, Server } from "./wire" */
/** @import { createMakers } from "./exercise-maker.js" */
/** @import { debounce } from "./dom.js" */

/** @typedef {{
      find: (selector: string) => HTMLElement, bar: HTMLElement, result: HTMLElement, hint: HTMLElement,
      hinted: HTMLElement, check: HTMLButtonElement,
      opened: (OpenedExercise & { number: number, count: number, next: string | null, list: string }) | null,
      opening: ReturnType<typeof createLatest>,
      checking: ReturnType<typeof createLatest>,
      shelf: ReturnType<typeof createShelf>,
      makers: ReturnType<typeof createMakers> | null, keepSoon: ReturnType<typeof debounce>,
      server: Server,
    }} ExerciseCard */

const MOST_KEPT = 60; // answers in the browser

/** The answers that were typed, by the key of their exercise. */
export const answers = () => saved.get("exercise answers", {}) || {};

/** @param {ExerciseCard} card */
export function keepAnswer(card) {
  if (!card.opened || state.example?.exercise !== card.opened.key) return;
  const kept = answers();
  delete kept[card.opened.key]; // the newest is the last
  kept[card.opened.key] = { ...wholeOf(state), tests: state.tests };
  for (const old of Object.keys(kept).slice(0, -MOST_KEPT)) delete kept[old];
  saved.set("exercise answers", kept);
}

/** The exercise in the address while it is in sight, so that a reload opens it again. @param {ExerciseCard} card */
export function writeAddress(card) {
  const named = (state.view === "learn" ? "" : card.opened?.exercise) ?? "";
  const isLink = named.startsWith("x=");
  const hash = isLink ? `#${named}` : /^#x=/.test(location.hash) ? "" : location.hash;
  setParameters({ exercise: (!isLink && named) || null }, hash);
}

/** @param {ExerciseCard} card */
export function show(card) {
  card.bar.hidden = !card.opened;
  document.body.toggleAttribute("data-exercise", Boolean(card.opened));
  if (!card.opened) return;
  const { number, count, list, title, task, hint: has, next } = card.opened;
  card.find(".where").textContent = number ? `${list} ${number} of ${count}` : "Exercise";
  card.find("h2").textContent = title;
  card.find(".solved").hidden = !progress.isDone(card.opened.key);
  card.find(".task").replaceChildren(...inlineMarkup(task));
  const kinds = card.opened.notations.map((name) => notations[name]?.label ?? name).join(" or ");
  card
    .find(".rules")
    .replaceChildren(
      ...[kinds && `as ${kinds}`, ...card.opened.conditions].filter(Boolean).map((each) => el("li", each)),
    );
  card.find(".rules").hidden = !card.find(".rules").children.length;
  card.hint.hidden = !has;
  card.hinted.hidden = true;
  card.hinted.replaceChildren(...inlineMarkup(has));
  card.hint.setAttribute("aria-expanded", "false");
  card.find("button.next").hidden = !next;
  card.result.replaceChildren();
}
