/* A question of a lesson. The engine decides which answers are right, and says why one is not. */

import { createLatest } from "./ask.js";
import { createButton, el, roving, tabStop, VERBATIM } from "./dom.js";

/** @import { Answer, Judged, LessonQuestion, Refusal } from "./wire" */

/** @type {Record<string, string>} */
const HOW = {
  several: "Choose all that are right.",
  text: "Type a text.",
  tokens: "Type tokens, with spaces between.",
  number: "Type a number.",
};

/** Options of which several can be chosen. @param {LessonQuestion} question @param {() => void} changed */
function createOptions(question, changed) {
  const isChosen = (/** @type {Element} */ option) => option.getAttribute("aria-checked") === "true";
  const toggle = (/** @type {{ currentTarget: Element }} */ { currentTarget: option }) => {
    option.setAttribute("aria-checked", String(!isChosen(option)));
    tabStop(options, option);
    changed();
  };
  const options = question.options.map((text) =>
    createButton(
      [el("i", { "aria-hidden": "true" }), el("code", text)],
      { role: "checkbox", "aria-checked": "false" },
      toggle,
    ),
  );
  tabStop(options, options[0]);
  const box = el("div.options", { role: "group", "aria-label": question.ask }, ...options);
  roving(box, (option) => tabStop(options, option));
  return {
    parts: [el("p.quiet.small", HOW.several), box],
    field: null,
    read: () => options.flatMap((option, i) => (isChosen(option) ? [i] : [])),
  };
}

/** @param {LessonQuestion} question */
function createField({ ask, form }) {
  const field = el("input", {
    maxlength: "200",
    ...VERBATIM,
    inputmode: form === "number" ? "decimal" : null,
    "aria-label": ask,
    placeholder: HOW[form],
  });
  return { parts: [], field, read: () => field.value };
}

/** @param {Pick<Judged, "right" | "say" | "notes">} answer */
const verdictParts = ({ right, say, notes }) => [
  el("p", { class: right ? "good" : "no" }, (right ? "✓ " : "✗ ") + say),
  notes.length ? el("ul", ...notes.map((note) => el("li", el("code", note.option), " ", note.why))) : "",
];

/** ``checked`` is called after each answer, ``done`` after a right one.
    @param {LessonQuestion} question @param {(sent: { answer: string | number[] }) => Promise<Judged | Refusal>} ask
    @param {boolean} solved
    @param {{ checked: () => void, done: () => void }} doors */
export function createQuiz(question, ask, solved, { checked, done }) {
  const reply = el("div.reply", { role: "status" }),
    button = el("button.primary", { type: "submit" }, "Check");
  const latest = createLatest({
    busy: (waiting) => {
      button.disabled = waiting;
    },
  });
  const { parts, field, read } =
    question.form === "several" ? createOptions(question, () => reply.replaceChildren()) : createField(question);
  /** @param {Answer<Judged>} answer */
  function tell(answer) {
    if (!answer.ok) {
      reply.replaceChildren(el("p.no", `✗ ${answer.why}`));
      return;
    }
    reply.replaceChildren(...verdictParts(answer));
    checked();
    if (answer.right) done();
  }
  const onsubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    latest.run(async (request) => tell(await request(ask, { answer: read() })));
  };
  if (solved) reply.append(el("p.good", "✓ You have answered this one."));
  return el(
    "form.quiz",
    { "aria-label": "Question", onsubmit },
    el("p.ask", question.ask),
    ...parts,
    el("div.acts", field, button),
    reply,
  );
}
