/* The notations of the grammar card: which one is read, its options, and what was last written in each. */

import { el, markChosen, onPress, roving, scrollIntoRow } from "./dom.js";
import { sectionButton } from "./grammar-card.js";
import { notations } from "./notations.js";
import { emit, on, state, wholeOf } from "./state.js";

/** @import { GrammarCard } from "./grammar-card" */

/** The options that a box switches on, with the value of each that is no default.
    @type {[string, boolean | string][]} */
const SWITCHES = [
  ["closed", true],
  ["order", "any"],
  ["spellings", "any"],
];

/** The label around a field. @param {HTMLElement} field */
const rowOf = (field) => /** @type {HTMLElement} */ (field.parentElement);

/** The menu of more notations is one tab stop with the tabs: the arrow after the last tab leads to it.
    @param {GrammarCard} card */
function joinRow({ kinds, more }) {
  const last = /** @type {HTMLElement} */ ([...kinds.querySelectorAll("[data-notation]")].at(-1));
  more.tabIndex = -1;
  last.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight") return;
    event.stopPropagation();
    more.focus();
  });
  more.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft") return;
    event.preventDefault();
    last.focus();
  });
}

/** Read and colour the text as a notation, and show the options of that notation. @param {GrammarCard} card */
export function useNotation(card, notation) {
  state.notation = notation;
  const tab = card.kinds.querySelector(`[data-notation="${notation}"]`);
  markChosen(card.kinds, "aria-checked", tab);
  if (tab) scrollIntoRow(card.kinds, tab);
  card.more.value = tab ? "" : notation;
  card.editor.area.placeholder = `For example: ${notations[notation].begin.text}`;
  sectionButton(card, "rules").hidden = !notations[notation].rules;
  card.machine.use(notation);
  const { layout: option, choices } = notations[notation];
  for (const [name, on] of SWITCHES) {
    rowOf(card.boxes[name]).hidden = !choices[name];
    card.boxes[name].checked = state.options[name] === on;
  }
  showLeftOut(card);
  rowOf(card.layout).hidden = rowOf(card.longest).hidden = !option;
  if (!option) return;
  card.layout.replaceChildren(
    ...choices[option.name].map((name) => el("option", { value: name }, option.labels[name] ?? name)),
  );
  card.layout.setAttribute("aria-label", option.title);
  card.layout.title = option.title;
  showLayout(card);
}

/** Show the layout that is chosen. A number is the layout "any" with at most that number of blanks in a row.
    @param {GrammarCard} card */
function showLayout(card) {
  const { layout: option, choices, numbers } = notations[state.notation];
  const value = state.options[option.name] ?? choices[option.name][0],
    limited = typeof value === "number";
  card.layout.value = limited ? "any" : String(value);
  card.longest.value = limited ? String(value) : "";
  card.longest.setAttribute("aria-invalid", "false");
  rowOf(card.longest).hidden = card.layout.value !== "any" || !numbers.includes(option.name);
}

/** Read the grammar with another value of an option; the default is not stored, so that links stay short.
    @param {GrammarCard} card */
function setOption(card, name, value) {
  const { [name]: _, ...others } = state.options;
  state.options = value === notations[state.notation].choices[name][0] ? others : { ...others, [name]: value };
  readWithOptions(card);
}

/** Read the grammar again. @param {GrammarCard} card */
function readWithOptions(card) {
  state.pending = true;
  card.prompt.follow();
  emit("typed");
  card.compileSoon.now();
}

/** @param {GrammarCard} card */
const setLayout = (card, value) => {
  setOption(card, notations[state.notation].layout.name, value);
  showLayout(card);
};

/** The keywords of a JSON Schema that are left out, as one text, and the button that restores them.
    @param {GrammarCard} card */
function showLeftOut(card) {
  const words = String(state.options.unasserted ?? "");
  card.leftOut.hidden = !words;
  card.leftOut.textContent = `without ${words} ✕`;
}

/** Leave keywords of a JSON Schema out; an empty text restores all. @param {GrammarCard} card @param {string} words */
function leaveOut(card, words) {
  const { unasserted: _, ...others } = state.options;
  state.options = words ? { ...others, unasserted: words } : others;
  readWithOptions(card);
  showLeftOut(card);
}

/** Listen to the layout, the number of blanks and the boxes of the other options. @param {GrammarCard} card */
export function listenToOptions(card) {
  card.layout.addEventListener("change", () => setLayout(card, card.layout.value));
  card.longest.addEventListener("change", () => {
    const wrong = !card.longest.validity.valid;
    card.longest.setAttribute("aria-invalid", String(wrong));
    if (!wrong) setLayout(card, card.longest.value ? Number(card.longest.value) : "any");
  });
  card.leftOut.addEventListener("click", () => leaveOut(card, ""));
  on("leave out", (keyword) => {
    const words = new Set(String(state.options.unasserted ?? "").split(", "));
    leaveOut(card, [...words.add(keyword)].filter(Boolean).sort().join(", "));
  });
  for (const [name, chosen] of SWITCHES) {
    const box = card.boxes[name];
    box.addEventListener("change", () => {
      setOption(card, name, box.checked ? chosen : notations[state.notation].choices[name][0]);
    });
  }
}

/** Keep the grammar and all that belongs to it, for when its notation is chosen again. @param {GrammarCard} card */
function keepWritten(card) {
  card.written[state.notation] = {
    ...wholeOf(state),
    ownTitle: state.ownTitle,
    ...card.prompt.kept(),
    tests: state.tests,
    came: card.tests.came(),
  };
}

/** The fields by which an exercise stays open, with its tests, when its answer is written in another notation. */
const exerciseFields = () => {
  const { exercise, title } = state.example ?? {};
  return exercise ? { exercise, title, tests: state.tests, from: "exercise" } : {};
};

/** Turn to what was last written in a notation. @param {GrammarCard} card */
function turnTo(card, notation) {
  if (notation === state.notation) return;
  keepWritten(card);
  emit("open", { ...(card.written[notation] ?? notations[notation].begin), notation, ...exerciseFields() });
}

/** A button for each notation, or its entry in the menu after them. @param {GrammarCard} card */
export function addKinds(card) {
  const button = ([name, { label, tab }]) =>
    el("button", { role: "radio", "data-notation": name, title: label }, tab ?? label);
  const all = Object.entries(notations),
    press = ({ dataset }) => turnTo(card, dataset.notation);
  card.kinds.append(...all.filter(([, { more }]) => !more).map(button));
  onPress(card.kinds, press);
  roving(card.kinds, press);
  const entry = ([value, { label, tab }]) => el("option", { value, title: label }, tab ?? label);
  card.more.append(...all.filter(([, { more }]) => more).map(entry));
  card.more.addEventListener("change", () => turnTo(card, card.more.value));
  joinRow(card);
}

/** Open a converted grammar, in place if its notation is the same. @param {GrammarCard} card */
export function showConverted(card, converted) {
  if (converted.notation === state.notation) {
    card.editor.write(converted.text.trimEnd()); // so that it can be undone
    return;
  }
  keepWritten(card);
  emit("open", { ...converted, ...exerciseFields() });
}
