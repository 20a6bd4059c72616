/* The lessons: a list of them on the left, one step at a time on the right. */

import { createLatest } from "./ask.js";
import { createButton, el, isPageKey } from "./dom.js";
import { createFullScreen } from "./full-screen.js";
import { clearAddress, lastRead, readAddress } from "./learn-address.js";
import { showList } from "./learn-list.js";
import { show } from "./learn-page.js";
import { lessonOf } from "./learn-state.js";
import { emit, on, onBegun, state } from "./state.js";

/** @import { LessonCard } from "./learn-state" */
/** @import { Context } from "./wire" */

/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 };

/** @param {LessonCard} card @param {number} step @param {string} [focus] */
function turn(card, step, focus) {
  const isShown = step === card.step && card.page.querySelector(".leaf");
  if (!card.lesson?.pages[step] || isShown) return;
  card.step = step;
  show(card, focus);
  if (focus === "h3") scrollTo({ top: 0 });
}

/** Open a lesson by its name, the first one if there is none of this name.
    @param {LessonCard} card @param {string} name @param {number} step @param {string} [focus] */
function open(card, name, step = 0, focus) {
  const known = card.lessons.find((lesson) => lesson.name === name) ?? card.lessons[0];
  card.requested = known?.name;
  return card.opening.run(async (ask) => {
    if (card.lesson?.name !== known?.name) {
      const answer = await ask(card.server.lesson, { lesson: known?.name });
      if (!answer.ok) {
        refuse(card, answer.why);
        return;
      }
      card.lesson = answer;
    }
    card.step = Math.max(0, Math.min(lessonOf(card).pages.length - 1, Math.trunc(step) || 0));
    show(card, focus);
    scrollTo({ top: 0 });
  });
}

/** @param {LessonCard} card @param {string} [why] */
const refuse = (card, why) =>
  card.page.replaceChildren(
    el("p.no", `✗ ${why}`),
    createButton("Try again", {}, () => begin(card)),
  );

/** Ask for the list; then open the lesson that is named, that of the address, or the last one that was read.
    @param {LessonCard} card @param {string} [name] */
const begin = (card, name) =>
  card.opening.run(async (ask) => {
    card.isListed = true;
    const answer = await ask(card.server.lesson_list, {});
    if (!answer.ok) {
      card.isListed = false;
      refuse(card, answer.why);
      return;
    }
    card.lessons = answer.lessons;
    const named = readAddress(),
      last = lastRead();
    if (name) open(card, name, 0, "h2");
    else if (named.lesson) open(card, named.lesson, named.step);
    else open(card, last.lesson ?? "", last.step);
  });

/** @param {LessonCard} card */
function listenToPage(card) {
  on("open lesson", (name) => (card.lessons.length ? open(card, name, 0, "h2") : begin(card, name)));
  on("view", (view) => {
    if (view !== "learn") clearAddress();
    else if (!card.isListed) begin(card);
    else if (card.lesson) show(card);
  });
  // a link to a lesson opens it, whatever the workbench begins with
  if (readAddress().lesson === null) return;
  const { search } = location;
  const look = () => {
    history.replaceState(null, "", search + location.hash);
    emit("look", "learn");
  };
  on("ready", look);
  onBegun(look);
}

/** @param {LessonCard} card */
function listenToKeys(card) {
  document.addEventListener("keydown", (event) => {
    if (state.view !== "learn" || !isPageKey(event)) return;
    const usesArrows = document.activeElement?.closest(".pic, .options, .steps, .hand, .worked, .views");
    const act = {
      n: () => turn(card, card.step + 1, "h3"),
      p: () => turn(card, card.step - 1, "h3"),
      ArrowRight: () => !usesArrows && card.film?.step(1),
      ArrowLeft: () => !usesArrows && card.film?.step(-1),
    }[event.key];
    if (act && act() !== false) event.preventDefault();
  });
}

/** A key while a lesson is presented: the figure's frames, then the next step.
    @param {LessonCard} card @param {KeyboardEvent} event */
function pressPresented(card, { key }) {
  const by = STEPS[key];
  if (!by) return false;
  if (!card.film?.step(by)) turn(card, card.step + by, "h3");
  return true;
}

/** @param {Context} context */
export function mountLearn({ element, server }) {
  const page = element.querySelector(".lesson");
  const title = "Show the lesson in full screen, one step at a time; the arrow keys go on, Esc leaves";
  /** @type {LessonCard} */
  const card = {
    server,
    shelf: element.querySelector(".shelves"),
    pick: element.querySelector(".pick"),
    page,
    present: el("button.present", { "data-leave": "Leave (Esc)", title }, "Present"),
    lessons: [],
    lesson: null,
    step: 0,
    film: null,
    requested: "", // marked in the list until it is there
    isListed: false,
    opening: createLatest({
      busy(waiting) {
        page.setAttribute("aria-busy", String(waiting));
        if (!waiting) card.requested = "";
        showList(card);
      },
    }),
    figures: createLatest({ busy: (waiting) => page.classList.toggle("loading", waiting) }),
    open: (name, step, focus) => open(card, name, step, focus),
    turn: (step, focus) => turn(card, step, focus),
  };
  card.pick.addEventListener("change", () => open(card, card.pick.value));
  createFullScreen(page, card.present, {
    key: (event) => pressPresented(card, event),
    changed: () => show(card, ".present"),
  });
  listenToPage(card);
  listenToKeys(card);
}
