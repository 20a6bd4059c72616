/* The page of a lesson: its head, its steps, the step that is shown, and the buttons to the next one. */

import { createButton, el, roving } from "./dom.js";
import { writeAddress } from "./learn-address.js";
import { showList } from "./learn-list.js";
import { printLesson } from "./learn-print.js";
import { isDone, keepDone, lessonOf } from "./learn-state.js";
import { createStep } from "./learn-step.js";
import { emit } from "./state.js";

/** @import { LessonCard } from "./learn-state" */

/** @param {LessonCard} card @param {string} lesson @param {number} step */
function markDone(card, lesson, step) {
  if (!keepDone(lesson, step)) return;
  showList(card);
  markSteps(card);
}

/** Mark the steps that have been done, and the one that is shown. @param {LessonCard} card */
function markSteps(card) {
  const { name, steps } = lessonOf(card);
  for (const [number, button] of card.page.querySelectorAll(".steps button").entries()) {
    const done = isDone(name, number);
    button.classList.toggle("done", done);
    button.setAttribute("aria-label", `Step ${number + 1}: ${steps[number]}${done ? ", done" : ""}`);
    button.setAttribute("aria-current", String(number === card.step));
    button.tabIndex = number === card.step ? 0 : -1;
  }
}

/** @param {LessonCard} card */
function createHead(card) {
  const { title, aim } = lessonOf(card),
    print = (/** @type {string} */ form) => printLesson(card, form, () => show(card));
  const slides = "Print each step on a page of its own, or save the pages as a PDF";
  return el(
    "header.head",
    el("div", el("h2", { tabindex: "-1" }, title), el("p.aim", aim)),
    card.present,
    createButton("Print", { class: "print" }, () => print("")),
    createButton("Print slides", { class: "print", title: slides }, () => print("slides")),
  );
}

/** @param {LessonCard} card */
function createStepButtons(card) {
  const box = el(
    "div.steps",
    { role: "group", "aria-label": "Steps of this lesson" },
    ...lessonOf(card).steps.map((title, i) =>
      createButton(String(i + 1), { "data-step": i, title }, () => card.turn(i)),
    ),
  );
  roving(box, (button) => card.turn(Number(button.dataset.step), ".steps [aria-current='true']"));
  return box;
}

/** What follows the step: the next one, the next lesson, or the workbench. @param {LessonCard} card */
function createNext({ lesson, lessons, step, open, turn }) {
  const after = lessons[lessons.findIndex(({ name }) => name === lesson?.name) + 1];
  const button = (/** @type {() => unknown} */ act, /** @type {(Node | string)[]} */ ...label) =>
    createButton(label, { class: "primary next" }, act);
  if (lesson && step < lesson.pages.length - 1) return button(() => turn(step + 1, "h3"), "Next", el("kbd", "n"));
  if (after) return button(() => open(after.name, 0, "h2"), `Next lesson: ${after.title}`);
  return button(() => emit("look", "workbench"), "On to the workbench");
}

/** @param {LessonCard} card */
function createTurns(card) {
  const { step, turn } = card;
  const back = { class: "back", disabled: step === 0, onclick: () => turn(step - 1, "h3") };
  return el(
    "div.turn",
    el("button", back, "Back", el("kbd", "p")),
    el("span.quiet", `Step ${step + 1} of ${lessonOf(card).pages.length}`),
    createNext(card),
  );
}

/** Show the step, and move the focus to an element of it. @param {LessonCard} card @param {string} [focus] */
export function show(card, focus) {
  const { name, pages } = lessonOf(card),
    { page, step } = card;
  const { box, film } = createStep(card, step, () => markDone(card, name, step));
  card.film = film;
  page.replaceChildren(createHead(card), createStepButtons(card), box, createTurns(card));
  markSteps(card);
  page.querySelector("h3").tabIndex = -1;
  if (focus) page.querySelector(focus)?.focus({ preventScroll: focus !== "h3" });
  // nothing below a figure is seen before the figure has its height: nothing moves
  card.figures.drop();
  if (film) card.figures.run((_ask, wait) => wait(film.load()));
  if (!pages[step].question) markDone(card, name, step);
  writeAddress(name, step);
}
