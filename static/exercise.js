/* An exercise in the workbench: a bar over the editor with the task, the check of the answer and its counterexample.
   The solution stays on the server, and in the link, which this page does not decode. */

import { createLatest } from "./ask.js";
import { debounce, el, showNotice } from "./dom.js";
import { createShelf, progress } from "./exercise-shelf.js";
import { late } from "./late.js";
import { words } from "./learn.js";
import { notations } from "./notations.js";
import { emit, on, onBegun, state, wholeOf } from "./state.js";
import { saved } from "./storage.js";

/** @import { Answer, Context, ExerciseVerdict, OpenedExercise } from "./wire" */

const KEEP = 400; // milliseconds without a key until the answer is kept
const CREDIT =
  "The share of the short texts accepted by your answer or the solution that both accept, " +
  "or the same share of rejected texts if it is smaller";
const MOST_KEPT = 60; // answers in the browser

/** The answers that were typed, by the key of their exercise. */
const answers = () => saved.get("exercise answers", {}) || {};

/** @param {Context<"exercise">} context */
export function mountExercise({ element, server }) {
  const find = (selector) => element.querySelector(selector);
  const bar = find(".exbar"),
    result = find(".result"),
    hint = find("button.hint"),
    hinted = find(".hinttext"),
    check = find("button.check");
  /** Null before the first one is opened.
      @type {Answer<OpenedExercise> & { number: number, count: number, next: string | null, list: string }} */
  let opened = /** @type {any} */ (null);
  const opening = createLatest({ busy: (waiting) => bar.setAttribute("aria-busy", String(waiting)) });
  const checking = createLatest({
    busy: (waiting) => {
      check.disabled = waiting;
    },
    subject: () => opened,
  });

  const shelf = createShelf(find(".shelfview"), server, { open, make: () => make("exercise") });
  let makers = /** @type {any} */ (null);
  /** Open the dialog that makes an exercise, or a course of several. */
  async function make(what) {
    try {
      makers ??= (await late("exercise-maker.js")).createMakers(
        find("dialog.maker"),
        find("dialog.coursemaker"),
        server,
        {
          open,
          shelf,
        },
      );
    } catch {
      showNotice("The form could not be loaded; is the server still running?");
      return;
    }
    makers[what]();
  }
  on("make course", () => make("course"));

  // -- the answer, kept in this browser --------------------------------------------------------------
  function keep() {
    if (!opened || state.example?.exercise !== opened.key) return;
    const kept = answers();
    delete kept[opened.key]; // the newest is the last
    kept[opened.key] = { ...wholeOf(state), tests: state.tests };
    for (const old of Object.keys(kept).slice(0, -MOST_KEPT)) delete kept[old];
    saved.set("exercise answers", kept);
  }
  const soon = debounce(KEEP, keep);

  /** Open an exercise in the workbench, with the answer that was typed before. */
  function open(exercise) {
    soon.now();
    return opening.run(async (ask, wait) => {
      const place = await wait(shelf.placeOf(exercise));
      const answer = await ask(server.exercise, { exercise });
      if (answer.fault || !answer.ok) showNotice(answer.fault || answer.why);
      else begin({ ...answer, ...place });
    });
  }
  function begin(answer) {
    checking.drop();
    opened = answer;
    const kept = answers()[answer.key];
    const held = kept && Object.hasOwn(notations, kept.notation) ? kept : { ...answer.begin, tests: answer.tests };
    emit("open", { ...held, title: `Exercise: ${answer.title}`, exercise: answer.key, from: "exercise" });
    address();
    show();
    find("h2").focus({ preventScroll: true });
  }

  function show() {
    bar.hidden = !opened;
    document.body.toggleAttribute("data-exercise", Boolean(opened));
    if (!opened) return;
    const { number, count, list, title, task, hint: has, next } = opened;
    find(".where").textContent = number ? `${list} ${number} of ${count}` : "Exercise";
    find("h2").textContent = title;
    find(".solved").hidden = !progress.isDone(opened.key);
    find(".task").replaceChildren(...words(task));
    const kinds = opened.notations.map((name) => notations[name]?.label ?? name).join(" or ");
    find(".rules").replaceChildren(
      ...[kinds && `as ${kinds}`, ...opened.conditions].filter(Boolean).map((each) => el("li", {}, each)),
    );
    find(".rules").hidden = !find(".rules").children.length;
    hint.hidden = !has;
    hinted.hidden = true;
    hinted.replaceChildren(...words(has));
    hint.setAttribute("aria-expanded", "false");
    find("button.next").hidden = !next;
    result.replaceChildren();
  }

  function leave() {
    if (!opened) return;
    soon.now();
    opened = /** @type {any} */ (null);
    checking.drop();
    delete state.example?.exercise; // from now on the text is a draft as any other
    address();
    show();
  }

  /** The exercise in the address while it is in sight, so that a reload opens it again. */
  function address() {
    const asked = new URLSearchParams(location.search);
    const named = (state.view === "learn" ? "" : opened?.exercise) ?? "";
    const isLink = named.startsWith("x=");
    asked.delete("exercise");
    if (named && !isLink) asked.set("exercise", named);
    const hash = isLink ? `#${named}` : /^#x=/.test(location.hash) ? "" : location.hash;
    const rest = String(asked);
    history.replaceState(null, "", (rest ? `?${rest}` : location.pathname) + hash);
  }

  // -- the check ---------------------------------------------------------------------------------------
  const judge = () =>
    checking.run(async (ask) =>
      verdict(await ask(server.check_exercise, { exercise: opened.exercise, ...wholeOf(state) })),
    );
  /** @param {Answer<ExerciseVerdict>} answer */
  function verdict(answer) {
    result.classList.remove("stale");
    if (answer.fault || !answer.ok) {
      result.replaceChildren(el("p", { class: "no" }, `✗ ${answer.fault || answer.why}`));
      return;
    }
    if (answer.solved) {
      progress.mark(opened.key);
      find(".solved").hidden = false;
    }
    tell(answer);
  }

  /** @param {Answer<ExerciseVerdict>} answer */
  function tell(answer) {
    const said = el(
      "p",
      {},
      el("b", { class: answer.solved ? "good" : "no" }, `${answer.solved ? "✓" : "✗"} ${answer.say}`),
    );
    if (answer.share !== null)
      said.append(el("span", { class: "quiet", title: CREDIT }, `partial credit ${Math.floor(100 * answer.share)} %`));
    if (answer.text !== null) said.append(counterexample(answer));
    const { problem } = answer;
    if (problem?.line)
      said.append(
        el("button", { type: "button", class: "link", onclick: () => emit("place", problem) }, "Go to the place"),
      );
    result.replaceChildren(said);
    if (answer.path.length) {
      result.append(path(answer.path));
      emit("light machine", answer.path.at(-1) ?? null);
    }
    if (answer.teaches) result.append(el("p", { class: "teaches" }, ...words(answer.teaches)));
  }

  /** The text joins the tests, where the picture shows why it is read or not. */
  const counterexample = ({ text, gained }) =>
    el(
      "button",
      {
        type: "button",
        class: "counter",
        onclick: (event) => {
          emit("add tests", [{ text, expect: gained ? "reject" : "accept" }]);
          event.target.disabled = true;
          event.target.textContent = "Added to the tests";
          soon();
        },
      },
      "Add it to the tests",
    );

  /** ``even –a→ odd``: the student's own machine along the counterexample. A part lights its states in the
      drawing. */
  const path = (parts) =>
    el(
      "p",
      { class: "path", "aria-label": "The states of your machine along this text" },
      ...parts.flatMap(({ text, states }, i) => [
        i ? ` –${text}→ ` : "",
        el(
          "button",
          {
            type: "button",
            class: parts[i].final ? "final" : null,
            title: "Show it in the drawing",
            onclick: () => emit("light machine", parts[i]),
          },
          states.length > 1 ? `{${states.join(", ")}}` : (states[0] ?? "no state"),
        ),
      ]),
      parts.at(-1).final ? " is final: accepted" : " is not final: rejected",
    );

  const reveal = () =>
    checking.run(async (ask) => showSolution(await ask(server.exercise_answer, { exercise: opened.exercise })));
  function showSolution(answer) {
    result.classList.remove("stale");
    if (answer.fault || !answer.ok) {
      result.replaceChildren(el("p", { class: "no" }, `✗ ${answer.fault || answer.why}`));
      return;
    }
    result.replaceChildren(
      el("p", { class: "quiet" }, `One right answer, as ${notations[answer.notation]?.label ?? answer.notation}:`),
      el("pre", { tabindex: "0", role: "region", "aria-label": "A right answer" }, answer.text.trim()),
      answer.teaches ? el("p", {}, ...words(answer.teaches)) : "",
    );
  }

  check.addEventListener("click", judge);
  hint.addEventListener("click", () => {
    hinted.hidden = !hinted.hidden;
    hint.setAttribute("aria-expanded", String(!hinted.hidden));
  });
  find("button.answer").addEventListener("click", reveal);
  find("button.next").addEventListener("click", () => open(opened.next));
  find("button.list").addEventListener("click", () => {
    keep();
    shelf.show(opened?.list === "Exercise" ? "exercises" : "course");
    emit("look", "learn");
  });
  find("button.leave").addEventListener("click", leave);

  on("typed", () => {
    if (opened) emit("light machine", null);
    result.classList.add("stale");
    soon();
  });
  on("compiled", soon);
  on("example", (example) => {
    if (opened && example.exercise !== opened.key) leave();
  });
  on("view", () => {
    if (opened) address();
  });
  window.addEventListener("pagehide", () => soon.now());
  new ResizeObserver(() =>
    document.documentElement.style.setProperty("--exercise", `${bar.hidden ? 0 : bar.offsetHeight}px`),
  ).observe(bar);

  // -- what the address asks for ---------------------------------------------------------------------------
  async function follow() {
    const named = new URLSearchParams(location.search).get("exercise");
    if (location.hash.startsWith("#x=")) await open(location.hash.slice(1));
    else if (location.hash.startsWith("#c=")) await shelf.openCourse(location.hash.slice(1));
    else if (named) await open(named);
  }
  onBegun(follow);
  window.addEventListener("hashchange", () => {
    if (/^#[xc]=/.test(location.hash)) follow();
  });
}
