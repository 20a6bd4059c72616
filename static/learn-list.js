/* The list of the lessons by shelf; on phones, where it would be the whole screen, a choice. */

import { el } from "./dom.js";
import { countDone } from "./learn-state.js";

/** @import { LessonCard } from "./learn-state" */
/** @import { ShelvedLesson } from "./wire" */

/** @param {ShelvedLesson} lesson */
function progressOf(lesson) {
  const count = countDone(lesson),
    all = lesson.steps.length;
  if (count === all) return { isWhole: true, text: "✓", label: "done" };
  return {
    isWhole: false,
    text: count ? `${count}/${all}` : "",
    label: count ? `${count} of ${all} steps done` : null,
  };
}

/** @param {LessonCard} card @param {ShelvedLesson} lesson */
function createEntry(card, lesson) {
  const { name, title } = lesson,
    { isWhole, text, label } = progressOf(lesson);
  const open = {
    "aria-current": card.lesson?.name === name ? "page" : null,
    "aria-busy": card.requested === name ? "true" : null,
    "data-lesson": name,
    onclick: () => card.open(name),
  };
  return el(
    "li",
    el(
      "button",
      open,
      el("span.n", String(card.lessons.indexOf(lesson) + 1)),
      el("span.t", title),
      el("span", { class: isWhole ? "m good" : "m", "aria-label": label }, text),
    ),
  );
}

/** @param {LessonCard} card @param {ShelvedLesson} lesson */
function createOption(card, lesson) {
  const { name, title } = lesson,
    number = card.lessons.indexOf(lesson) + 1;
  return el(
    "option",
    { value: name, selected: (card.requested || card.lesson?.name) === name },
    `${number}  ${title} ${progressOf(lesson).text}`,
  );
}

/** Bring the open lesson into the part of the list that is in view. @param {LessonCard} card */
function scrollToOpen({ shelf }) {
  const entry = shelf.querySelector("[aria-current]"),
    box = shelf.closest(".shelf");
  if (!entry) return;
  const isSeen =
    entry.offsetTop >= box.scrollTop && entry.offsetTop + entry.offsetHeight <= box.scrollTop + box.clientHeight;
  if (!isSeen) box.scrollTop = entry.offsetTop - 60;
}

/** @param {LessonCard} card */
export function showList(card) {
  const shelves = [...Map.groupBy(card.lessons, (lesson) => lesson.shelf)];
  const focused = document.activeElement?.closest(".shelves [data-lesson]")?.dataset.lesson;
  card.shelf.replaceChildren(
    ...shelves.map(([title, lessons], i) =>
      el(
        "section",
        { "aria-labelledby": `wb-shelf-${i}` },
        el("h3", { id: `wb-shelf-${i}` }, title),
        el("ol", ...lessons.map((lesson) => createEntry(card, lesson))),
      ),
    ),
  );
  card.pick.replaceChildren(
    ...shelves.map(([title, lessons]) =>
      el("optgroup", { label: title }, ...lessons.map((lesson) => createOption(card, lesson))),
    ),
  );
  if (focused) card.shelf.querySelector(`[data-lesson="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  scrollToOpen(card);
}
