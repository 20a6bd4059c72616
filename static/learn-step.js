/* A step of a lesson: its text, and beside it a figure, a table or a question. */

import { createButton, el } from "./dom.js";
import { createFilm } from "./film.js";
import { inlineMarkup } from "./inline-markup.js";
import { createGiven } from "./learn-given.js";
import { createQuiz } from "./learn-quiz.js";
import { isDone, lessonOf } from "./learn-state.js";
import { createLessonTable } from "./learn-table.js";
import { emit } from "./state.js";

/** @import { LessonCard } from "./learn-state" */
/** @import { LessonPage } from "./wire" */

/** @param {LessonPage} page @param {HTMLElement} given */
function textOf({ title, paragraphs, source, open }, given) {
  const example = { ...open, title: `From the lesson: ${title}`, from: "lesson" };
  return el(
    "div.words",
    el("h3", title),
    ...paragraphs.map((text) => el("p", ...inlineMarkup(text))),
    given,
    el("p.source.quiet", "Source: ", source),
    open && createButton("Open in the workbench", { class: "bench" }, () => emit("open", example)),
  );
}

/** The elements of a step, and its film if it has one; ``solved`` is called after a right answer.
    @param {LessonCard} card @param {number} number @param {() => void} solved */
export function createStep(card, number, solved) {
  const { name, pages } = lessonOf(card),
    { server } = card,
    page = pages[number],
    about = (/** @type {object} */ sent) => ({ ...sent, lesson: name, step: number });
  const given = createGiven(page.given),
    film = page.figure
      ? createFilm((sent) => server.lesson_figure(about(sent)), page.caption, {
          framed: given.light,
          why: page.explained ? (sent) => server.lesson_why(about(sent)) : null,
        })
      : null;
  const isSolved = isDone(name, number);
  let table = page.table && createLessonTable(page.table, isSolved || !page.question);
  function uncover() {
    if (!page.table?.hidden.length) return;
    const whole = createLessonTable(page.table, true);
    table?.replaceWith(whole);
    table = whole;
  }
  const check = (/** @type {{ answer: string | number[] }} */ sent) =>
      server.lesson_answer({ ...about(sent), answer: sent.answer }),
    quiz = page.question && createQuiz(page.question, check, isSolved, { checked: uncover, done: solved });
  const isBelow = Boolean(film || table);
  const shown = el("div.shown", film?.figure, table, isBelow ? null : quiz);
  const className = page.broad ? "leaf broad" : "leaf";
  return { box: el("section", { class: className }, textOf(page, given.box), shown, isBelow ? quiz : null), film };
}
