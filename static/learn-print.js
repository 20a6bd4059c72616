/* A lesson on paper: all steps, each with its figure as it ends. */

import { el, printAlone } from "./dom.js";
import { lessonOf } from "./learn-state.js";
import { createStep } from "./learn-step.js";

/** @import { LessonCard } from "./learn-state" */

/** Print the lesson, or with the form "slides" one step a page; then show it again.
    @param {LessonCard} card @param {string} form @param {() => void} show */
export async function printLesson(card, form, show) {
  const { title, aim, pages } = lessonOf(card);
  const steps = pages.map((_, number) => createStep(card, number, () => {}));
  const sheet = el(
    "div",
    { class: `wb sheets ${form}` },
    el("h2", title),
    el("p.aim", aim),
    ...steps.map(({ box }) => box),
  );
  card.page.replaceChildren(sheet);
  const load = async (/** @type {ReturnType<typeof createStep>} */ { film }) => {
    await film?.load();
    film?.last();
  };
  const isReady = await card.opening.run(async (_ask, wait) => {
    await wait(Promise.all(steps.map(load)));
    return true;
  });
  if (!isReady) return;
  printAlone(form ? sheet : null);
  show();
}
