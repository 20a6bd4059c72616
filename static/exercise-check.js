/* The check of an answer: what the server says of it, and a right answer. */

import { createButton, el } from "./dom.js";
import { progress } from "./exercise-shelf.js";
import { inlineMarkup } from "./inline-markup.js";
import { notations } from "./notations.js";
import { emit, state, wholeOf } from "./state.js";

/** @import { ExerciseCard } from "./exercise-state" */
/** @import { Answer, ExerciseVerdict } from "./wire" */

const CREDIT =
  "The share of the short texts accepted by your answer or the solution that both accept, " +
  "or the same share of rejected texts if it is smaller";

/** @param {ExerciseCard} card */
export const checkAnswer = (card) =>
  card.checking.run(async (ask) =>
    takeVerdict(card, await ask(card.server.check_exercise, { exercise: card.opened?.exercise, ...wholeOf(state) })),
  );

/** @param {ExerciseCard} card @param {Answer<ExerciseVerdict>} answer */
function takeVerdict(card, answer) {
  card.result.classList.remove("stale");
  if (!answer.ok) {
    card.result.replaceChildren(el("p.no", `✗ ${answer.why}`));
    return;
  }
  if (answer.solved) {
    progress.mark(card.opened?.key);
    card.find(".solved").hidden = false;
  }
  showVerdict(card, answer);
}

/** @param {ExerciseCard} card @param {Answer<ExerciseVerdict>} answer */
function showVerdict(card, answer) {
  const said = el("p", el("b", { class: answer.solved ? "good" : "no" }, `${answer.solved ? "✓" : "✗"} ${answer.say}`));
  if (answer.share !== null)
    said.append(el("span.quiet", { title: CREDIT }, `partial credit ${Math.floor(100 * answer.share)} %`));
  if (answer.text !== null) said.append(counterexampleOf(card, answer));
  const { problem } = answer;
  if (problem?.line) said.append(createButton("Go to the place", { class: "link" }, () => emit("place", problem)));
  card.result.replaceChildren(said);
  if (answer.path.length) {
    card.result.append(pathOf(answer.path));
    emit("light machine", answer.path.at(-1) ?? null);
  }
  if (answer.teaches) card.result.append(el("p.teaches", ...inlineMarkup(answer.teaches)));
}

/** The text joins the tests, where the picture shows why it is read or not. @param {ExerciseCard} card */
const counterexampleOf = (card, { text, gained }) =>
  createButton("Add it to the tests", { class: "counter" }, ({ currentTarget: button }) => {
    emit("add tests", [{ text, expect: gained ? "reject" : "accept" }]);
    button.disabled = true;
    button.textContent = "Added to the tests";
    card.keepSoon();
  });

/** ``even –a→ odd``: the student's own machine along the counterexample. A part lights its states in the
      drawing. */
const pathOf = (parts) =>
  el(
    "p.path",
    { "aria-label": "The states of your machine along this text" },
    ...parts.flatMap(({ text, states }, i) => [
      i ? ` –${text}→ ` : "",
      createButton(
        states.length > 1 ? `{${states.join(", ")}}` : (states[0] ?? "no state"),
        { class: parts[i].final ? "final" : null, title: "Show it in the drawing" },
        () => emit("light machine", parts[i]),
      ),
    ]),
    parts.at(-1).final ? " is final: accepted" : " is not final: rejected",
  );

/** @param {ExerciseCard} card */
export const askSolution = (card) =>
  card.checking.run(async (ask) =>
    showSolution(card, await ask(card.server.exercise_answer, { exercise: card.opened?.exercise })),
  );

/** @param {ExerciseCard} card */
function showSolution(card, answer) {
  card.result.classList.remove("stale");
  if (!answer.ok) {
    card.result.replaceChildren(el("p.no", `✗ ${answer.why}`));
    return;
  }
  card.result.replaceChildren(
    el("p.quiet", `One right answer, as ${notations[answer.notation]?.label ?? answer.notation}:`),
    el("pre", { tabindex: "0", role: "region", "aria-label": "A right answer" }, answer.text.trim()),
    answer.teaches ? el("p", ...inlineMarkup(answer.teaches)) : "",
  );
}
