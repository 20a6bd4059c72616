/* The state of the lessons: their list, the lesson and the step that are shown, and the steps that have been done. */

import { saved } from "./storage.js";

/** @import { createLatest } from "./ask.js" */
/** @import { createFilm } from "./film.js" */
/** @import { Answer, LessonContent, Server, ShelvedLesson } from "./wire" */

/** ``lesson`` is null until the first one has arrived; ``requested``: the name of the lesson that is awaited;
    ``isListed``: whether the list was asked for. ``open`` and ``turn`` show another lesson and another step, and move
    the focus to an element of it.
    @typedef {{
      server: Server, shelf: HTMLElement, pick: HTMLSelectElement, page: HTMLElement,
      present: HTMLButtonElement,
      lessons: ShelvedLesson[], lesson: Answer<LessonContent> | null, step: number,
      film: ReturnType<typeof createFilm> | null, requested: string, isListed: boolean,
      opening: ReturnType<typeof createLatest>, figures: ReturnType<typeof createLatest>,
      open: (name: string, step?: number, focus?: string) => Promise<unknown>,
      turn: (step: number, focus?: string) => void,
    }} LessonCard */

/** The lesson that is shown. @param {LessonCard} card */
export function lessonOf(card) {
  if (!card.lesson) throw new Error("no lesson is open");
  return card.lesson;
}

/** The numbers of the steps that have been done, by lesson. @returns {Record<string, number[]>} */
const doneSteps = () => saved.get("lessons done", {}) || {};

/** @param {string} lesson @param {number} step */
export const isDone = (lesson, step) => Boolean(doneSteps()[lesson]?.includes(step));

/** Keep that a step has been done; false if it was known. @param {string} lesson @param {number} step */
export function keepDone(lesson, step) {
  if (isDone(lesson, step)) return false;
  const steps = doneSteps();
  saved.set("lessons done", { ...steps, [lesson]: [...(steps[lesson] ?? []), step] });
  return true;
}

/** How many steps of a lesson have been done. @param {ShelvedLesson} lesson */
export const countDone = (lesson) =>
  (doneSteps()[lesson.name] ?? []).filter((step) => step < lesson.steps.length).length;
