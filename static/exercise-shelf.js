/* Beside the lessons: the list of exercises, and a course that a teacher shared; what is solved is kept here. */

import { askServer, createLatest } from "./ask.js";
import { el, markChosen, printAlone, radios, showNotice } from "./dom.js";
import { words } from "./learn.js";
import { notations } from "./notations.js";
import { emit, on, state } from "./state.js";
import { saved } from "./storage.js";

/** @import { Answer, CourseAnswer, ExerciseEntry, ShelvedExercise, Servers } from "./wire" */

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

/** @param {HTMLElement} box @param {Servers["exercise"]} server
    @param {Record<string, (named?: string) => void>} acts */
export function createShelf(box, server, acts) {
  const page = box.querySelector(".exlist"),
    tabs = box.querySelector(".tabs");
  /** @type {ShelvedExercise[]} */
  let all = [];
  /** @type {Answer<CourseAnswer> | null} */
  let course = null;
  let kinds = [];
  /** @type {Promise<void> | null} */
  let asking = null;

  /** The list of the server, asked for once. */
  function load() {
    asking ??= askServer(server.exercise_list, {}).then((answer) => {
      if (answer.fault || !answer.ok) {
        asking = null;
        page.replaceChildren(el("p", { class: "no" }, `✗ ${answer.fault || answer.why}`));
        return;
      }
      all = answer.exercises;
      kinds = answer.conditions;
    });
    return asking;
  }

  // -- tabs ----------------------------------------------------------------------------------------
  const TABS = { lessons: "Lessons", exercises: "Exercises", course: "Course" };
  const chooseTab = radios(tabs, "data-tab", Object.entries(TABS), show);
  function show(tab) {
    if (tab === "course" && !course) tab = "exercises";
    document.body.dataset.shelf = tab;
    chooseTab(tab);
    tabs.querySelector("[data-tab=course]").hidden = !course;
    page.hidden = tab === "lessons";
    saved.set("learn tab", tab);
    address(tab);
    if (tab !== "lessons") draw();
  }

  /** ``?learn=exercises`` opens this list; the address of a lesson is written by the lessons. */
  function address(tab) {
    const asked = new URLSearchParams(location.search);
    if (state.view !== "learn" || (tab === "lessons" && asked.get("learn") !== "exercises")) return;
    asked.delete("learn");
    asked.delete("step");
    if (tab === "exercises" || (tab === "course" && !location.hash.startsWith("#c="))) asked.set("learn", "exercises");
    const rest = String(asked);
    history.replaceState(null, "", (rest ? `?${rest}` : location.pathname) + location.hash);
  }

  /** @param {ExerciseEntry} one */
  function entry(one, number) {
    const solved = progress.isDone(one.key);
    return row(number, one.title, solved ? "✓ solved" : "", solved, () => acts.open(one.exercise), [
      el("span", { class: "about" }, ...words(one.task)),
      el(
        "span",
        { class: "about small" },
        [...one.notations.map((name) => notations[name]?.label ?? name), ...one.conditions].join(" · "),
      ),
    ]);
  }
  const row = (number, title, mark, good, act, more) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", onclick: act },
        el("span", { class: "n" }, String(number)),
        el("span", { class: "t" }, title),
        el("span", { class: good ? "m good" : "m" }, mark),
        ...more,
      ),
    );

  async function draw() {
    await load();
    if (!all.length) return;
    if (document.body.dataset.shelf === "course" && course) drawCourse();
    else drawExercises();
  }
  const button = (text, act, properties = {}) => el("button", { type: "button", onclick: act, ...properties }, text);

  function drawExercises() {
    const solved = all.filter((one) => progress.isDone(one.key)).length;
    const shelves = [...new Set(all.map((one) => one.shelf))];
    page.replaceChildren(
      el(
        "header",
        {},
        el("h2", {}, "Exercises"),
        el("span", { class: solved === all.length ? "good" : "quiet" }, `${solved} of ${all.length} solved`),
        el("span", { class: "grow" }),
        button("Print the sheet", () => printSheet("Exercises", all)),
        button("Make an exercise", () => acts.make()),
        button("Make a course", () => emit("make course")),
        solved ? button("Reset progress", reset) : "",
      ),
      ...shelves.map((title) =>
        el(
          "section",
          { "aria-label": title },
          el("h3", {}, title),
          el("ol", {}, ...all.filter((one) => one.shelf === title).map((one) => entry(one, all.indexOf(one) + 1))),
        ),
      ),
      el("p", { class: "quiet small" }, "Your answers and what you have solved are kept in this browser."),
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

  function drawCourse() {
    const whole = (one) => ("lesson" in one ? stepsDone(one) === one.steps : progress.isDone(one.key));
    if (!course) return;
    const { title, items } = course;
    const count = items.filter(whole).length;
    page.replaceChildren(
      el(
        "header",
        {},
        el("h2", {}, title),
        el("span", { class: "quiet" }, `${count} of ${items.length} done`),
        el("span", { class: "grow" }),
        button("Print the sheet", () => printSheet(title, exercisesOf(course))),
        button("Leave the course", leaveCourse),
      ),
      el(
        "ol",
        { class: "plain" },
        ...items.map((one, i) =>
          "lesson" in one
            ? row(
                i + 1,
                `Lesson: ${one.title}`,
                whole(one) ? "✓ done" : `${stepsDone(one)}/${one.steps} steps`,
                whole(one),
                () => {
                  show("lessons");
                  emit("open lesson", one.lesson);
                },
                [],
              )
            : entry(one, i + 1),
        ),
      ),
    );
  }
  const exercisesOf = (one) => one.items.filter((each) => !("lesson" in each));

  // -- the course ------------------------------------------------------------------------------------
  const reading = createLatest();
  /** Read a course; undefined if another one was requested meanwhile. */
  const readCourse = (link) =>
    reading.run(async (ask) => {
      const answer = await ask(server.course, { course: link });
      if (answer.fault || !answer.ok) {
        showNotice(answer.fault || answer.why);
        return false;
      }
      course = answer;
      saved.set("course", link);
      return true;
    });
  function leaveCourse() {
    reading.drop();
    course = null;
    saved.remove("course");
    if (location.hash.startsWith("#c=")) history.replaceState(null, "", location.pathname + location.search);
    show("exercises");
  }

  on("view", async (view) => {
    if (view !== "learn") return;
    const kept = saved.get("course");
    if (!course && kept) await readCourse(kept);
    const asked = location.hash.startsWith("#c=") ? null : new URLSearchParams(location.search).get("learn");
    const wanted = asked && (asked === "exercises" ? asked : "lessons");
    show(document.body.dataset.shelf ?? wanted ?? saved.get("learn tab", "lessons"));
  });
  on("exercise solved", () => {
    if (state.view === "learn" && !page.hidden) draw();
  });
  markChosen(tabs, "aria-checked", tabs.firstElementChild);

  return {
    show,
    conditions: async () => {
      await load();
      return kinds;
    },
    all: async () => {
      await load();
      return all;
    },
    /** Where an exercise is: in the course if it is one of it, else on the shelf. */
    async placeOf(exercise) {
      await load();
      const inCourse = document.body.dataset.shelf === "course" && course ? exercisesOf(course) : [];
      for (const [list, members] of /** @type {[string, ExerciseEntry[]][]} */ ([
        ["Exercise of the course", inCourse],
        ["Exercise", all],
      ])) {
        const at = members.findIndex((one) => one.exercise === exercise);
        if (at >= 0) return { list, number: at + 1, count: members.length, next: members[at + 1]?.exercise ?? null };
      }
      return { list: "Exercise", number: 0, count: 0, next: null };
    },
    async openCourse(link) {
      if (!(await readCourse(link))) return;
      document.body.dataset.shelf = "course";
      if (state.view === "learn") show("course");
      else emit("look", "learn");
    },
  };
}

/** Exercises on paper; with ``solutions`` for a teacher. */
export function printSheet(title, exercises, solutions = false) {
  const texts = (label, list) =>
    list.length
      ? el(
          "p",
          { class: "texts" },
          `${label}: `,
          ...list.map((text) => (text ? el("code", {}, text) : el("em", {}, "the empty text"))),
        )
      : "";
  const sheet = el(
    "div",
    { class: "wb sheets tasks" },
    el("h1", {}, solutions ? `${title}: solutions` : title),
    solutions ? "" : el("p", { class: "name" }, "Name", el("span", {}), "Date", el("span", {})),
    ...exercises.map((one, i) =>
      el(
        "article",
        {},
        el("h2", {}, `${i + 1}  ${one.title}`),
        el("p", {}, ...words(one.task)),
        el(
          "p",
          { class: "texts" },
          [one.notations.map((name) => notations[name]?.label ?? name).join(" or "), ...one.conditions]
            .filter(Boolean)
            .join(" · "),
        ),
        texts("Accepted", one.accepts),
        texts("Rejected", one.rejects),
        solutions
          ? el("div", {}, el("pre", {}, one.text.trim()), el("p", {}, ...words(one.teaches)))
          : el("div", { class: one.notations.includes("machine") ? "room drawn" : "room" }),
      ),
    ),
  );
  printAlone(sheet);
}
