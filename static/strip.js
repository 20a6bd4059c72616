/* The token strip: tokens are added one at a time, one of them is selected, each has a colour. Makes no requests: its
   caller passes what a selection does. On a phone, a bar with the text and the selected token. */

import { bound } from "./bound.js";
import { sentence } from "./callout.js";
import { el, hasModifier, scrollIntoColumn, steppedIndex } from "./dom.js";
import { shades } from "./measures.js";
import { on, state } from "./state.js";
import { glyphs, readOf, spelledText, tokenNodes } from "./tokens.js";

/** @import { Step } from "./wire" */

/** @typedef {{
      selected: number, shade: string, steps: Step[], rules: string[], waiting: HTMLElement | null,
      box: HTMLElement,
    }} Strip */

/** The most characters of a run in the bar of a phone; the pixels that it and the links below it cover. */
const MOST_PEEKED = 80;
const COVERED = 100;

/** On a phone the run card is below the first screen: until its Run is in view, a bar over the lower edge has the text
    of the run, what the selected token says, and Run. */
export function createRunBar(find, run) {
  const bar = find(".runbar"),
    [go, peek] = bar.querySelectorAll("button"),
    [wrote, about] = peek.querySelectorAll("span"),
    card = bar.parentElement;
  function show(step) {
    const text = spelledText(state.steps.map((each) => each.token)).trim();
    wrote.textContent = state.running ? text.slice(-MOST_PEEKED) : text.slice(0, MOST_PEEKED);
    if (step?.wanted) about.replaceChildren(...sentence(step));
    else about.textContent = state.running ? "the model is writing…" : "Run: the model writes under the grammar";
  }
  const reveal = () => scrollTo({ top: card.getBoundingClientRect().top + scrollY - 8 });
  peek.addEventListener("click", reveal);
  go.addEventListener("click", () => {
    run();
    reveal();
  });
  on("step", show);
  new IntersectionObserver(
    ([seen]) => {
      bar.hidden = seen.isIntersecting || seen.boundingClientRect.top < 0;
    },
    { rootMargin: `0px 0px -${COVERED}px` },
  ).observe(find(".go"));
  show(null);
}

/** @param {Strip} row */
const nameOf = (row, step, index) =>
  `token ${index + 1}: ${glyphs(step.token)}, ${shades.all[row.shade].words(step)}` +
  (step.forced ? ", the only one allowed" : "") +
  (step.cut ? ", the model preferred a different token" : "") +
  (step.hand ? ", taken by hand" : "") +
  (step.free === undefined ? "" : ", reasoning before the grammar's text") +
  ({ refused: ", refused by the grammar", alone: ", scored by the model alone" }[step.read] ?? "");

/** @param {Strip} row */
function paintToken(row, token, step, index) {
  token.className =
    "tok " +
    colourOf(row, step) +
    (step.forced ? " fr" : "") +
    (step.cut ? " cut" : "") +
    (step.hand ? " hand" : "") +
    (step.free === undefined ? "" : " free") +
    (step.read ? ` ${step.read}` : "") +
    (token.classList.contains("trap") ? " trap" : "");
  token.setAttribute("aria-label", nameOf(row, step, index));
  const first =
    row.shade === "rule" &&
    shades.rule(step) &&
    (index === 0 || shades.rule(row.steps[index - 1]) !== shades.rule(step));
  if (first) token.dataset.n = String(row.rules.indexOf(shades.rule(step)) + 1);
  else delete token.dataset.n;
}

/** @param {Strip} row */
function colourOf(row, step) {
  if (row.shade !== "rule") return `b${shades.all[row.shade].bin(step)}`;
  const its = shades.rule(step);
  if (its && !row.rules.includes(its)) row.rules.push(its);
  return shades.colourOfRule(row.rules, its);
}

/** @param {Strip} row */
function addToken(row, step, index) {
  const token = el("span", {
    role: "option",
    "aria-selected": "false",
    tabindex: index === 0 && row.selected < 0 ? "0" : "-1",
    "data-i": String(index),
  });
  token.append(tokenNodes(step.token));
  row.steps[index] = step;
  paintToken(row, token, step, index);
  if (row.waiting) row.waiting.before(token);
  else row.box.append(token);
}

/** Keep the first few tokens and forget the rest. @param {Strip} row */
function clear(row, keep = 0) {
  next(row, false);
  while (row.box.children.length > keep) row.box.lastElementChild?.remove();
  row.steps = row.steps.slice(0, keep);
  for (const token of row.box.querySelectorAll(".trap")) token.classList.remove("trap", "first");
  row.rules = shades.rulesOf(row.steps);
  mark(row, -1, false);
}

/** Show or hide the place of the token that is not taken yet. @param {Strip} row */
function next(row, shown) {
  if (!shown) {
    row.waiting?.remove();
    row.waiting = null;
    return;
  }
  if (row.waiting) return;
  const made = el(
    "span.tok.next",
    { role: "option", "aria-selected": "false", tabindex: "-1", "aria-label": "the next token, not taken yet" },
    "next",
  );
  made.dataset.i = String(row.steps.length);
  row.box.append(made);
  row.waiting = made;
}

/** @param {Strip} row */
function mark(row, index, focus) {
  const tokens = /** @type {HTMLCollectionOf<HTMLElement>} */ (row.box.children),
    old = tokens[row.selected];
  old?.setAttribute("aria-selected", "false");
  if (old) old.tabIndex = -1;
  row.selected = index;
  if (row.waiting) row.waiting.dataset.i = String(row.steps.length);
  const now = tokens[index];
  (now || tokens[0])?.setAttribute("tabindex", "0");
  if (!now) return;
  if (tokens[0] !== now) tokens[0].tabIndex = -1;
  now.setAttribute("aria-selected", "true");
  if (focus) now.focus({ preventScroll: true });
  reveal(row, now);
}

/** Scroll the strip, never the page under a reader's eyes. @param {Strip} row */
function reveal(row, token) {
  const frame = row.box.parentElement;
  if (frame && frame.scrollHeight > frame.clientHeight) scrollIntoColumn(frame, token, 8);
}

/** Colour by something else. @param {Strip} row */
function by(row, key) {
  row.shade = key;
  row.rules = shades.rulesOf(row.steps);
  for (const [index, step] of row.steps.entries()) paintToken(row, row.box.children[index], step, index);
}

/** Mark where a run repeated itself. @param {Strip} row */
function traps(row, found) {
  for (const token of row.box.querySelectorAll(".trap")) token.classList.remove("trap", "first");
  for (const trap of found)
    for (let i = trap.from; i <= trap.to; i++)
      row.box.children[i]?.classList.add("trap", ...(i === trap.from ? ["first"] : []));
}

const indexOf = (event) => event.target.closest("[data-i]");

/** `doors.select(index, focus)` is called when a token is chosen; `doors.key(event, index)` for other keys. */
export function createStrip(box, doors) {
  /** @type {Strip} */
  const row = { selected: -1, shade: "surprisal", steps: [], rules: [], waiting: null, box };
  /** Mark the tokens that a node of the parse tree read. */
  on("tree node", (node) => {
    let end = 0;
    for (const [index, step] of row.steps.entries()) {
      const start = end;
      end += (readOf(step) ?? "").length / 2;
      const [low, high] = node && node.test === null ? node.bytes : [0, 0];
      box.children[index]?.classList.toggle("innode", start < high && low < end);
    }
  });
  box.addEventListener("click", (event) => {
    const hit = indexOf(event);
    if (hit) doors.select(Number(hit.dataset.i), true);
  });
  box.addEventListener("keydown", (event) => {
    if (hasModifier(event)) return;
    const last = box.children.length - 1;
    const here = row.selected >= 0 ? row.selected : Number(indexOf(event)?.dataset.i ?? 0);
    const alert = (by) => {
      for (let i = here + by; i >= 0 && i <= last; i += by) if (box.children[i].matches(".cut, .first")) return i;
      return here;
    };
    const by = { "]": 1, "[": -1 }[event.key],
      next = by && last >= 0 ? alert(by) : steppedIndex(event.key, row.selected, last + 1);
    if (next === undefined) {
      doors.key?.(event, here);
      return;
    }
    event.preventDefault();
    doors.select(next, true);
  });
  return bound(row, { add: addToken, clear, mark, next, by, traps });
}
