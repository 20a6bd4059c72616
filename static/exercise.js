/* An exercise in the workbench: a bar over the editor with the task, the check of the answer and its counterexample.
   The solution stays on the server, and in the link, which this page does not decode. */

import { parameters } from "./address.js";
import { createLatest } from "./ask.js";
import { debounce, showNotice } from "./dom.js";
import { askSolution, checkAnswer } from "./exercise-check.js";
import { createShelf } from "./exercise-shelf.js";
import { answers, keepAnswer, show, writeAddress } from "./exercise-state.js";
import { late } from "./late.js";
import { notations } from "./notations.js";
import { emit, on, onBegun, state } from "./state.js";

/** @import { ExerciseCard } from "./exercise-state" */

/** @import { Context } from "./wire" */
const KEEP = 400; // milliseconds without a key until the answer is kept

/** Open the dialog that makes an exercise, or a course of several. @param {ExerciseCard} card */
async function make(card, what) {
  try {
    card.makers ??= (await late("exercise-maker.js")).createMakers(
      card.find("dialog.maker"),
      card.find("dialog.coursemaker"),
      card.server,
      {
        open: (exercise) => open(card, exercise),
        shelf: card.shelf,
      },
    );
  } catch {
    showNotice("The form could not be loaded; is the server still running?");
    return;
  }
  card.makers?.[what]();
}

/** Open an exercise in the workbench, with the answer that was typed before. @param {ExerciseCard} card */
function open(card, exercise) {
  card.keepSoon.now();
  return card.opening.run(async (ask, wait) => {
    const place = await wait(card.shelf.placeOf(exercise));
    const answer = await ask(card.server.exercise, { exercise });
    if (!answer.ok) showNotice(answer.why);
    else showExercise(card, { ...answer, ...place });
  });
}

/** @param {ExerciseCard} card */
function showExercise(card, answer) {
  card.checking.drop();
  card.opened = answer;
  const kept = answers()[answer.key];
  const held = kept && Object.hasOwn(notations, kept.notation) ? kept : { ...answer.begin, tests: answer.tests };
  emit("open", { ...held, title: `Exercise: ${answer.title}`, exercise: answer.key, from: "exercise" });
  writeAddress(card);
  show(card);
  card.find("h2").focus({ preventScroll: true });
}

/** @param {ExerciseCard} card */
function leave(card) {
  if (!card.opened) return;
  card.keepSoon.now();
  card.opened = null;
  card.checking.drop();
  delete state.example?.exercise; // from now on the text is a draft as any other
  writeAddress(card);
  show(card);
}

/** @param {ExerciseCard} card */
function listenToBar(card) {
  card.check.addEventListener("click", () => checkAnswer(card));
  card.hint.addEventListener("click", () => {
    card.hinted.hidden = !card.hinted.hidden;
    card.hint.setAttribute("aria-expanded", String(!card.hinted.hidden));
  });
  card.find("button.answer").addEventListener("click", () => askSolution(card));
  card.find("button.next").addEventListener("click", () => open(card, card.opened?.next));
  card.find("button.list").addEventListener("click", () => {
    keepAnswer(card);
    card.shelf.show(card.opened?.list === "Exercise" ? "exercises" : "course");
    emit("look", "learn");
  });
  card.find("button.leave").addEventListener("click", () => leave(card));
}

/** @param {ExerciseCard} card */
function listenToPage(card) {
  on("make course", () => make(card, "course"));
  on("typed", () => {
    if (card.opened) emit("light machine", null);
    card.result.classList.add("stale");
    card.keepSoon();
  });
  on("compiled", card.keepSoon);
  on("example", (example) => {
    if (card.opened && example.exercise !== card.opened.key) leave(card);
  });
  on("view", () => {
    if (card.opened) writeAddress(card);
  });
  window.addEventListener("pagehide", () => card.keepSoon.now());
  new ResizeObserver(() =>
    document.documentElement.style.setProperty("--exercise", `${card.bar.hidden ? 0 : card.bar.offsetHeight}px`),
  ).observe(card.bar);
}

/** @param {ExerciseCard} card */
async function followAddress(card) {
  const named = parameters().get("exercise");
  if (location.hash.startsWith("#x=")) await open(card, location.hash.slice(1));
  else if (location.hash.startsWith("#c=")) await card.shelf.openCourse(location.hash.slice(1));
  else if (named) await open(card, named);
}

/** @param {Context} context */
export function mountExercise({ element, server }) {
  const find = (selector) => element.querySelector(selector);
  const bar = find(".exbar");
  const check = find("button.check");
  const checking = createLatest({
    busy: (waiting) => {
      check.disabled = waiting;
    },
    subject: () => card.opened,
  });
  const shelf = createShelf(find(".shelfview"), server, {
    open: (exercise) => open(card, exercise),
    make: () => make(card, "exercise"),
  });
  const soon = debounce(KEEP, () => keepAnswer(card));
  /** @type {ExerciseCard} */
  const card = {
    find,
    bar,
    result: find(".result"),
    hint: find("button.hint"),
    hinted: find(".hinttext"),
    check,
    opened: null,
    opening: createLatest({ busy: (waiting) => bar.setAttribute("aria-busy", String(waiting)) }),
    checking,
    shelf,
    makers: null,
    keepSoon: soon,
    server,
  };
  listenToBar(card);
  listenToPage(card);
  onBegun(() => followAddress(card));
  window.addEventListener("hashchange", () => {
    if (/^#[xc]=/.test(location.hash)) followAddress(card);
  });
}
