/* Dialogs in which a teacher makes an exercise, or a course, and copies its link. */

import { createLatest } from "./ask.js";
import { copyText, createDialog, el } from "./dom.js";
import { printSheet } from "./exercise-shelf.js";
import { notations } from "./notations.js";
import { state, wholeOf } from "./state.js";

/** @import { Servers } from "./wire" */

/** Lines of a box as texts: ``\n`` is a line break, ``""`` the empty text. */
const textsOf = (area) =>
  area.value
    .split("\n")
    .filter((line) => line)
    .map((line) => (line === '""' ? "" : line.replaceAll("\\n", "\n")));
const linesOf = (texts) => texts.map((text) => (text === "" ? '""' : text.replaceAll("\n", "\\n"))).join("\n");

const addressOf = (fragment) => `${location.origin}${location.pathname}#${fragment}`;

/** The link in a box, and a button that copies it. */
function linkBox(fragment, said) {
  const address = addressOf(fragment);
  const field = el("input", { readonly: true, "aria-label": "The link", value: address });
  field.addEventListener("focus", () => field.select());
  return [
    el("p", { class: "good" }, said),
    field,
    el(
      "p",
      { class: "acts" },
      el(
        "button",
        { type: "button", class: "copy", onclick: (event) => copyText(address, event.target) },
        "Copy the link",
      ),
    ),
  ];
}
const failed = (answer) => el("p", { class: "no" }, `✗ ${answer.fault || answer.why}`);

/** @param {HTMLDialogElement} maker @param {HTMLElement} courseMaker @param {Servers["exercise"]} server
    @param {Record<string, any>} acts */
export function createMakers(maker, courseMaker, server, { open, shelf }) {
  const showMaker = createDialog(maker),
    showCourse = createDialog(courseMaker);
  const form = maker.querySelector("form"),
    made = form.querySelector(".made"),
    opener = form.querySelector(".open");
  let link = "";

  // -- an exercise ---------------------------------------------------------------------------------------
  async function exercise() {
    const solution = wholeOf(state);
    form
      .querySelector(".solution")
      .replaceChildren(
        `The solution, as ${notations[solution.notation].label}: `,
        el("code", {}, solution.text.length > 120 ? `${solution.text.slice(0, 120)}…` : solution.text || "nothing yet"),
      );
    const boxes = form.querySelector(".kinds div");
    if (!boxes.children.length)
      boxes.append(
        ...Object.entries(notations).map(([name, { label }]) =>
          el("label", {}, el("input", { type: "checkbox", name: "notation", value: name }), label),
        ),
      );
    const conditions = form.querySelector(".conditions div");
    if (!conditions.children.length)
      conditions.append(
        ...(await shelf.conditions()).map(({ kind, words, counts }) => {
          const box = el("input", { type: "checkbox", name: "condition", value: kind });
          const [before, after] = words.split("…");
          const number = counts
            ? el("input", { type: "number", min: "1", max: "9999", value: "4", "aria-label": words })
            : null;
          return el("label", {}, box, before, number, after ?? "");
        }),
      );
    form.querySelector(".escapes").textContent = 'In a text \\n is a line break; "" alone is the empty text.';
    made.replaceChildren();
    opener.hidden = true;
    showMaker();
  }

  const latest = createLatest({ busy: (waiting) => form.setAttribute("aria-busy", String(waiting)) });
  const field = (name) => form.elements.namedItem(name);
  const checkedOf = (name) => [...form.querySelectorAll(`[name=${name}]:checked`)];
  form.querySelector(".suggest").addEventListener("click", () =>
    latest.run(async (ask) => {
      const answer = await ask(server.suggest_examples, wholeOf(state));
      if (answer.fault || !answer.ok) made.replaceChildren(failed(answer));
      else for (const name of ["accepts", "rejects"]) field(name).value = linesOf(answer[name]);
    }),
  );
  /** The exercise as the form describes it. */
  const described = () => ({
    ...wholeOf(state),
    ...Object.fromEntries(["title", "task", "hint", "teaches"].map((name) => [name, field(name).value])),
    accepts: textsOf(field("accepts")),
    rejects: textsOf(field("rejects")),
    notations: checkedOf("notation").map((box) => box.value),
    conditions: Object.fromEntries(
      checkedOf("condition").map((box) => {
        const number = box.parentNode.querySelector("[type=number]");
        return [box.value, number ? Number(number.value) : true];
      }),
    ),
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    latest.run(async (ask) => showExercise(await ask(server.make_exercise, described())));
  });
  function showExercise(answer) {
    opener.hidden = Boolean(answer.fault || !answer.ok);
    if (opener.hidden) {
      made.replaceChildren(failed(answer));
      return;
    }
    link = answer.link;
    made.replaceChildren(...linkBox(link, "The solution and the texts agree. This is the link for students:"));
  }
  opener.addEventListener("click", () => {
    maker.close();
    open(link);
  });

  // -- a course ------------------------------------------------------------------------------------------
  const courseForm = courseMaker.querySelector("form"),
    status = courseForm.querySelector(".made");
  const newest = createLatest({ busy: (waiting) => courseForm.setAttribute("aria-busy", String(waiting)) });
  const courseField = (name) => courseForm.elements.namedItem(name);
  async function course() {
    const choice = courseField("add");
    if (!choice.options.length) {
      const lessons = [...document.querySelectorAll("#wb-learn .pick option")].map((one) => [
        one.value,
        one.textContent.trim(),
      ]);
      const exercises = (await shelf.all()).map((one, i) => [one.exercise, `${i + 1}  ${one.title}`]);
      const group = (label, members) =>
        el("optgroup", { label }, ...members.map(([value, text]) => el("option", { value }, text)));
      choice.append(
        el("option", { value: "" }, "a lesson or an exercise…"),
        group("Lessons", lessons),
        group("Exercises", exercises),
      );
    }
    status.replaceChildren();
    showCourse();
  }
  courseField("add").addEventListener("change", (event) => {
    const items = courseField("items");
    if (event.target.value) items.value = `${items.value.replace(/\n*$/, "\n")}${event.target.value}\n`.trimStart();
    event.target.value = "";
  });
  courseForm.addEventListener("submit", (event) => {
    event.preventDefault();
    newest.run(async (ask) => {
      const [title, items] = [courseField("title").value, courseField("items").value];
      const answer = await ask(server.make_course, { title, items });
      if (answer.fault || !answer.ok) status.replaceChildren(failed(answer));
      else status.replaceChildren(...linkBox(answer.link, "This is the link to the course:"));
    });
  });
  const sheet = (solutions) =>
    newest.run(async (ask) => {
      const answer = await ask(server.solution_sheet, { items: courseField("items").value });
      if (answer.fault || !answer.ok) status.replaceChildren(failed(answer));
      else printSheet(courseField("title").value || "Exercises", answer.exercises, solutions);
    });
  courseForm.querySelector(".sheet").addEventListener("click", () => sheet(false));
  courseForm.querySelector(".solutions").addEventListener("click", () => sheet(true));

  return { exercise, course };
}
