/* Dialogs in which a teacher makes an exercise, or a course, and copies its link. */

import { createLatest } from "./ask.js";
import { copyText, createButton, createDialog, el } from "./dom.js";
import { printSheet } from "./exercise-shelf.js";
import { notations } from "./notations.js";
import { state, wholeOf } from "./state.js";

/** @typedef {{
      showMaker: ReturnType<typeof createDialog>,
      showCourse: ReturnType<typeof createDialog>, form: HTMLFormElement, made: HTMLElement,
      opener: HTMLElement, link: string, courseForm: HTMLFormElement, status: HTMLElement,
      newest: ReturnType<typeof createLatest>, server: Server, shelf: ReturnType<typeof createShelf>,
    }} MakerForms */

/** @import { Server } from "./wire" */
/** @import { createShelf } from "./exercise-shelf.js" */
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
    el("p.good", said),
    field,
    el(
      "p.acts",
      createButton("Copy the link", { class: "copy" }, (event) => copyText(address, event.currentTarget)),
    ),
  ];
}

const failed = (answer) => el("p.no", `✗ ${answer.why}`);

/** @param {MakerForms} forms */
async function exercise(forms) {
  const solution = wholeOf(state);
  forms.form
    .querySelector(".solution")
    .replaceChildren(
      `The solution, as ${notations[solution.notation].label}: `,
      el("code", solution.text.length > 120 ? `${solution.text.slice(0, 120)}…` : solution.text || "nothing yet"),
    );
  const boxes = forms.form.querySelector(".kinds div");
  if (!boxes.children.length)
    boxes.append(
      ...Object.entries(notations).map(([name, { label }]) =>
        el("label", el("input", { type: "checkbox", name: "notation", value: name }), label),
      ),
    );
  const conditions = forms.form.querySelector(".conditions div");
  if (!conditions.children.length)
    conditions.append(
      ...(await forms.shelf.conditions()).map(({ kind, words, counts }) => {
        const box = el("input", { type: "checkbox", name: "condition", value: kind });
        const [before, after] = words.split("…");
        const number = counts
          ? el("input", { type: "number", min: "1", max: "9999", value: "4", "aria-label": words })
          : null;
        return el("label", box, before, number, after ?? "");
      }),
    );
  forms.form.querySelector(".escapes").textContent = 'In a text \\n is a line break; "" alone is the empty text.';
  forms.made.replaceChildren();
  forms.opener.hidden = true;
  forms.showMaker();
}

/** A field of a form by its name. @param {HTMLFormElement} form @param {string} name */
const fieldOf = (form, name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));

/** @param {MakerForms} forms @param {string} name */
const field = (forms, name) => fieldOf(forms.form, name);

/** @param {MakerForms} forms */
const checkedOf = (forms, name) =>
  /** @type {HTMLInputElement[]} */ ([...forms.form.querySelectorAll(`[name=${name}]:checked`)]);

/** The exercise as the form describes it. @param {MakerForms} forms */
const described = (forms) => ({
  ...wholeOf(state),
  ...Object.fromEntries(["title", "task", "hint", "teaches"].map((name) => [name, field(forms, name).value])),
  accepts: textsOf(field(forms, "accepts")),
  rejects: textsOf(field(forms, "rejects")),
  notations: checkedOf(forms, "notation").map((box) => box.value),
  conditions: Object.fromEntries(
    checkedOf(forms, "condition").map((box) => {
      /** @type {HTMLInputElement | null} */
      const number = box.closest("label").querySelector("[type=number]");
      return [box.value, number ? Number(number.value) : true];
    }),
  ),
});

/** @param {MakerForms} forms */
function showExercise(forms, answer) {
  forms.opener.hidden = !answer.ok;
  if (forms.opener.hidden) {
    forms.made.replaceChildren(failed(answer));
    return;
  }
  forms.link = answer.link;
  forms.made.replaceChildren(
    ...linkBox(forms.link, "The solution and the texts agree. This is the link for students:"),
  );
}

/** @param {MakerForms} forms */
const courseField = (forms, name) => fieldOf(forms.courseForm, name);

/** @param {MakerForms} forms */
async function course(forms) {
  const choice = courseField(forms, "add");
  if (!choice.children.length) {
    const lessons = [
      .../** @type {NodeListOf<HTMLOptionElement>} */ (document.querySelectorAll("#wb-learn .pick option")),
    ].map((one) => [one.value, one.textContent.trim()]);
    const exercises = (await forms.shelf.all()).map((one, i) => [one.exercise, `${i + 1}  ${one.title}`]);
    const group = (label, members) =>
      el("optgroup", { label }, ...members.map(([value, text]) => el("option", { value }, text)));
    choice.append(
      el("option", { value: "" }, "a lesson or an exercise…"),
      group("Lessons", lessons),
      group("Exercises", exercises),
    );
  }
  forms.status.replaceChildren();
  forms.showCourse();
}

/** @param {MakerForms} forms */
const sheet = (forms, solutions) =>
  forms.newest.run(async (ask) => {
    const answer = await ask(forms.server.solution_sheet, { items: courseField(forms, "items").value });
    if (!answer.ok) forms.status.replaceChildren(failed(answer));
    else printSheet(courseField(forms, "title").value || "Exercises", answer.exercises, solutions);
  });

/** @param {HTMLDialogElement} maker @param {HTMLDialogElement} courseMaker @param {Server} server
    @param {{ open: (exercise: string) => void, shelf: ReturnType<typeof createShelf> }} acts */
export function createMakers(maker, courseMaker, server, { open, shelf }) {
  const form = maker.querySelector("form");
  const made = form.querySelector(".made");
  const opener = form.querySelector(".open");
  const latest = createLatest({ busy: (waiting) => form.setAttribute("aria-busy", String(waiting)) });
  form.querySelector(".suggest").addEventListener("click", () =>
    latest.run(async (ask) => {
      const answer = await ask(server.suggest_examples, wholeOf(state));
      if (!answer.ok) made.replaceChildren(failed(answer));
      else for (const name of ["accepts", "rejects"]) field(forms, name).value = linesOf(answer[name]);
    }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    latest.run(async (ask) => showExercise(forms, await ask(server.make_exercise, described(forms))));
  });
  opener.addEventListener("click", () => {
    maker.close();
    open(forms.link);
  });
  const courseForm = courseMaker.querySelector("form");
  const status = courseForm.querySelector(".made");
  const newest = createLatest({ busy: (waiting) => courseForm.setAttribute("aria-busy", String(waiting)) });
  /** @type {MakerForms} */
  const forms = {
    showMaker: createDialog(maker),
    showCourse: createDialog(courseMaker),
    form,
    made,
    opener,
    link: "",
    courseForm,
    status,
    newest,
    server,
    shelf,
  };
  const add = courseField(forms, "add");
  add.addEventListener("change", () => {
    const items = courseField(forms, "items");
    if (add.value) items.value = `${items.value.replace(/\n*$/, "\n")}${add.value}\n`.trimStart();
    add.value = "";
  });
  courseForm.addEventListener("submit", (event) => {
    event.preventDefault();
    newest.run(async (ask) => {
      const [title, items] = [courseField(forms, "title").value, courseField(forms, "items").value];
      const answer = await ask(server.make_course, { title, items });
      if (!answer.ok) status.replaceChildren(failed(answer));
      else status.replaceChildren(...linkBox(answer.link, "This is the link to the course:"));
    });
  });
  courseForm.querySelector(".sheet").addEventListener("click", () => sheet(forms, false));
  courseForm.querySelector(".solutions").addEventListener("click", () => sheet(forms, true));
  return { exercise: () => exercise(forms), course: () => course(forms) };
}
