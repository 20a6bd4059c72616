/* Beside the lessons: the list of exercises, and a course that a teacher shared; what is solved is kept here. */

import { parameters, setParameters } from "./address.js";
import { askServer, createLatest } from "./ask.js";
import { createButton, el, markChosen, printAlone, radios, showNotice } from "./dom.js";
import { inlineMarkup } from "./inline-markup.js";
import { notations } from "./notations.js";
import { emit, on, state } from "./state.js";
import { saved } from "./storage.js";

/** @typedef {{
      page: HTMLElement, tabs: HTMLElement, all: ShelvedExercise[], course: Answer<CourseAnswer> | null,
      kinds: ConditionKind[], asking: Promise<void> | null, chooseTab: (tab: string) => void,
      reading: ReturnType<typeof createLatest>, server: Server,
      acts: Record<string, (named?: string) => void>,
    }} Shelf */

const TABS = { lessons: "Lessons", exercises: "Exercises", course: "Course" };

/** @import { Answer, ConditionKind, CourseAnswer, ExerciseEntry, Server, ShelvedExercise } from "./wire" */
const done = () => saved.get("exercises done", {}) || {};

/** Which exercises are solved, by their keys. */
export const progress = {
  isDone: (key) => Boolean(done()[key]),
  mark(key) {
    saved.set("exercises done", { ...done(), [key]: true });
    emit("exercise solved", key);
  },
  reset() {
    saved.remove("exercises done");
    saved.remove("exercise answers");
    emit("exercise solved", "");
  },
};

const stepsDone = ({ lesson, steps }) => {
  const kept = saved.get("lessons done", {})?.[lesson] ?? [];
  return kept.filter((number) => number < steps).length;
};

/** Exercises on paper; with ``solutions`` for a teacher. */
export function printSheet(title, exercises, solutions = false) {
  const texts = (label, list) =>
    list.length
      ? el("p.texts", `${label}: `, ...list.map((text) => (text ? el("code", text) : el("em", "the empty text"))))
      : "";
  const sheet = el(
    "div.wb.sheets.tasks",
    el("h1", solutions ? `${title}: solutions` : title),
    solutions ? "" : el("p.name", "Name", el("span"), "Date", el("span")),
    ...exercises.map((one, i) =>
      el(
        "article",
        el("h2", `${i + 1}  ${one.title}`),
        el("p", ...inlineMarkup(one.task)),
        el(
          "p.texts",
          [one.notations.map((name) => notations[name]?.label ?? name).join(" or "), ...one.conditions]
            .filter(Boolean)
            .join(" · "),
        ),
        texts("Accepted", one.accepts),
        texts("Rejected", one.rejects),
        solutions
          ? el("div", el("pre", one.text.trim()), el("p", ...inlineMarkup(one.teaches)))
          : el("div", { class: one.notations.includes("machine") ? "room drawn" : "room" }),
      ),
    ),
  );
  printAlone(sheet);
}

/** The list of the server, asked for once. @param {Shelf} card */
function load(card) {
  card.asking ??= askServer(card.server.exercise_list, {}).then((answer) => {
    if (!answer.ok) {
      card.asking = null;
      card.page.replaceChildren(el("p.no", `✗ ${answer.why}`));
      return;
    }
    card.all = answer.exercises;
    card.kinds = answer.conditions;
  });
  return card.asking;
}

/** @param {Shelf} card */
function show(card, tab) {
  if (tab === "course" && !card.course) tab = "exercises";
  document.body.dataset.shelf = tab;
  card.chooseTab(tab);
  card.tabs.querySelector("[data-tab=course]").hidden = !card.course;
  card.page.hidden = tab === "lessons";
  saved.set("learn tab", tab);
  address(tab);
  if (tab !== "lessons") draw(card);
}

/** ``?learn=exercises`` opens this list; the address of a lesson is written by the lessons. */
function address(tab) {
  if (state.view !== "learn" || (tab === "lessons" && parameters().get("learn") !== "exercises")) return;
  const isNamed = tab === "exercises" || (tab === "course" && !location.hash.startsWith("#c="));
  setParameters({ learn: isNamed ? "exercises" : null, step: null });
}

/** @param {Shelf} card @param {ExerciseEntry} one */
function entry(card, one, number) {
  const solved = progress.isDone(one.key);
  return row(number, one.title, solved ? "✓ solved" : "", solved, () => card.acts.open(one.exercise), [
    el("span.about", ...inlineMarkup(one.task)),
    el(
      "span.about.small",
      [...one.notations.map((name) => notations[name]?.label ?? name), ...one.conditions].join(" · "),
    ),
  ]);
}

const row = (number, title, mark, good, act, more) =>
  el(
    "li",
    createButton(
      [el("span.n", String(number)), el("span.t", title), el("span", { class: good ? "m good" : "m" }, mark), ...more],
      {},
      act,
    ),
  );

/** @param {Shelf} card */
async function draw(card) {
  await load(card);
  if (!card.all.length) return;
  if (document.body.dataset.shelf === "course" && card.course) drawCourse(card);
  else drawExercises(card);
}

const button = (text, act, properties = {}) => createButton(text, properties, act);

/** @param {Shelf} card */
function drawExercises(card) {
  const solved = card.all.filter((one) => progress.isDone(one.key)).length;
  const shelves = [...Map.groupBy(card.all, (one) => one.shelf)];
  card.page.replaceChildren(
    el(
      "header",
      el("h2", "Exercises"),
      el("span", { class: solved === card.all.length ? "good" : "quiet" }, `${solved} of ${card.all.length} solved`),
      el("span.grow"),
      button("Print the sheet", () => printSheet("Exercises", card.all)),
      button("Make an exercise", () => card.acts.make()),
      button("Make a course", () => emit("make course")),
      solved ? button("Reset progress", reset) : "",
    ),
    ...shelves.map(([title, members]) =>
      el(
        "section",
        { "aria-label": title },
        el("h3", title),
        el("ol", ...members.map((one) => entry(card, one, card.all.indexOf(one) + 1))),
      ),
    ),
    el("p.quiet.small", "Your answers and what you have solved are kept in this browser."),
  );
}

function reset(event) {
  if (event.target.dataset.sure) {
    progress.reset();
    return;
  }
  event.target.dataset.sure = "yes";
  event.target.textContent = "Delete all answers?";
}

/** @param {Shelf} card */
function drawCourse(card) {
  const whole = (one) => ("lesson" in one ? stepsDone(one) === one.steps : progress.isDone(one.key));
  if (!card.course) return;
  const { title, items } = card.course;
  const count = items.filter(whole).length;
  card.page.replaceChildren(
    el(
      "header",
      el("h2", title),
      el("span.quiet", `${count} of ${items.length} done`),
      el("span.grow"),
      button("Print the sheet", () => printSheet(title, exercisesOf(card.course))),
      button("Leave the course", () => leaveCourse(card)),
    ),
    el(
      "ol.plain",
      ...items.map((one, i) =>
        "lesson" in one
          ? row(
              i + 1,
              `Lesson: ${one.title}`,
              whole(one) ? "✓ done" : `${stepsDone(one)}/${one.steps} steps`,
              whole(one),
              () => {
                show(card, "lessons");
                emit("open lesson", one.lesson);
              },
              [],
            )
          : entry(card, one, i + 1),
      ),
    ),
  );
}

const exercisesOf = (one) => one.items.filter((each) => !("lesson" in each));

/** Read a course; undefined if another one was requested meanwhile. @param {Shelf} card */
const readCourse = (card, link) =>
  card.reading.run(async (ask) => {
    const answer = await ask(card.server.course, { course: link });
    if (!answer.ok) {
      showNotice(answer.why);
      return false;
    }
    card.course = answer;
    saved.set("course", link);
    return true;
  });

/** @param {Shelf} card */
function leaveCourse(card) {
  card.reading.drop();
  card.course = null;
  saved.remove("course");
  if (location.hash.startsWith("#c=")) history.replaceState(null, "", location.pathname + location.search);
  show(card, "exercises");
}

/** @param {HTMLElement} box @param {Server} server
    @param {Record<string, (named?: string) => void>} acts */
export function createShelf(box, server, acts) {
  const page = box.querySelector(".exlist");
  const tabs = box.querySelector(".tabs");
  /** @type {Shelf} */
  const card = {
    page,
    tabs,
    all: [],
    course: null,
    kinds: [],
    asking: null,
    chooseTab: radios(tabs, "data-tab", Object.entries(TABS), (tab) => show(card, tab)),
    reading: createLatest(),
    server,
    acts,
  };
  on("view", async (view) => {
    if (view !== "learn") return;
    const kept = saved.get("course");
    if (!card.course && kept) await readCourse(card, kept);
    const asked = location.hash.startsWith("#c=") ? null : parameters().get("learn");
    const wanted = asked && (asked === "exercises" ? asked : "lessons");
    show(card, document.body.dataset.shelf ?? wanted ?? saved.get("learn tab", "lessons"));
  });
  on("exercise solved", () => {
    if (state.view === "learn" && !page.hidden) draw(card);
  });
  markChosen(tabs, "aria-checked", tabs.firstElementChild);
  return {
    show: (tab) => show(card, tab),
    conditions: async () => {
      await load(card);
      return card.kinds;
    },
    all: async () => {
      await load(card);
      return card.all;
    },
    /** Where an exercise is: in the course if it is one of it, else on the shelf. */
    async placeOf(exercise) {
      await load(card);
      const inCourse = document.body.dataset.shelf === "course" && card.course ? exercisesOf(card.course) : [];
      for (const [list, members] of /** @type {[string, ExerciseEntry[]][]} */ ([
        ["Exercise of the course", inCourse],
        ["Exercise", card.all],
      ])) {
        const at = members.findIndex((one) => one.exercise === exercise);
        if (at >= 0) return { list, number: at + 1, count: members.length, next: members[at + 1]?.exercise ?? null };
      }
      return { list: "Exercise", number: 0, count: 0, next: null };
    },
    async openCourse(link) {
      if (!(await readCourse(card, link))) return;
      document.body.dataset.shelf = "course";
      if (state.view === "learn") show(card, "course");
      else emit("look", "learn");
    },
  };
}
