/* Find in a text: all matches of the grammar in a long text, coloured where they are and listed. The text is in a plain
   text area over a copy whose matches are coloured by the browser's highlights, so a long text has no more elements
   than a short one.
   The search of CodeMirror 6 finds a text or a regular expression in its editor; these matches come from the server. */

import { createLatest } from "./ask.js";
import { copyText, createButton, debounce, el, VERBATIM } from "./dom.js";
import { unitsIn } from "./paint.js";
import { grammarKey, grammarOf, state } from "./state.js";
import { addGridKeys } from "./tests.js";
import { formatNumber, visibleText } from "./tokens.js";

/** @typedef {{
      copy: HTMLElementTagNameMap["div"], area: HTMLElementTagNameMap["textarea"],
      status: HTMLElementTagNameMap["span"], list: HTMLElementTagNameMap["ul"], previous: HTMLButtonElement,
      next: HTMLButtonElement,
      copies: HTMLElementTagNameMap["button"], matches: [number, number][], current: number, searched: string,
      latest: ReturnType<typeof createLatest>, server: Server,
      counted: (count: string) => void,
    }} SearchCard */

/** @import { Server } from "./wire" */
/** Characters of a text, and rows of the list, at most. */
const LONGEST = 300_000;
const LISTED = 200;
const LONG_PASTE = 10_000;

/** Firefox has no highlights before version 140: there the list is all. */
const HIGHLIGHTS = typeof Highlight === "function" && globalThis.CSS?.highlights;

const button = (label, title, act) => createButton(label, { class: "more", title, "aria-label": title }, act);

/** A match in the copy of the text. @param {SearchCard} card @param {[number, number]} match */
function rangeOf(card, [start, end]) {
  const range = new Range(),
    text = /** @type {Text} */ (card.copy.firstChild);
  range.setStart(text, start);
  range.setEnd(text, end);
  return range;
}

/** Colour all matches, and the current one apart. @param {SearchCard} card */
function paint(card) {
  if (card.copy.textContent !== card.area.value) card.copy.replaceChildren(card.area.value);
  if (!HIGHLIGHTS) return;
  const node = card.copy.firstChild,
    range = (match) => rangeOf(card, match);
  // matches that touch have two colours in turn
  const odd = card.matches.filter((_, index) => index % 2),
    even = card.matches.filter((_, index) => !(index % 2));
  HIGHLIGHTS.set("wb-match", new Highlight(...(node ? even.map(range) : [])));
  HIGHLIGHTS.set("wb-match-odd", new Highlight(...(node ? odd.map(range) : [])));
  HIGHLIGHTS.set(
    "wb-match-now",
    new Highlight(...(node && card.matches[card.current] ? [range(card.matches[card.current])] : [])),
  );
}

/** Line and column of a place, from 1. @param {SearchCard} card */
function placeOf(card, at) {
  const before = card.area.value.slice(0, at),
    line = before.split("\n").length;
  return `${line}:${[...before.slice(before.lastIndexOf("\n") + 1)].length + 1}`;
}

/** @param {SearchCard} card */
function rowsOf(card) {
  const made = card.matches.slice(0, LISTED).map(([start, end], index) => {
    const text = card.area.value.slice(start, end),
      word = el("span.text");
    word.append(visibleText(text.length > 120 ? `${text.slice(0, 119)}…` : text));
    return el(
      "li",
      { class: index === card.current ? "now" : "" },
      createButton([el("span.at", placeOf(card, start)), word], { class: "link", title: "Go to this match" }, () =>
        goTo(card, index),
      ),
    );
  });
  if (card.matches.length > LISTED) made.push(el("li.quiet", `and ${formatNumber(card.matches.length - LISTED)} more`));
  card.list.replaceChildren(...made);
  addGridKeys(card.list);
}

/** Make a match the current one and bring it into sight. @param {SearchCard} card */
function goTo(card, index) {
  if (!card.matches.length) return;
  card.list.children[card.current]?.classList.remove("now");
  card.current = (index + card.matches.length) % card.matches.length;
  card.list.children[card.current]?.classList.add("now");
  paint(card);
  const range = rangeOf(card, card.matches[card.current]);
  const place = range.getBoundingClientRect(),
    seen = card.copy.getBoundingClientRect();
  if (place.top < seen.top || place.bottom > seen.bottom)
    card.area.scrollTop += place.top - seen.top - (seen.height - place.height) / 2;
  card.copy.scrollTop = card.area.scrollTop;
  card.area.setSelectionRange(...card.matches[card.current]);
  const number = `${formatNumber(card.current + 1)} of ${formatNumber(card.matches.length)}`;
  card.status.textContent = `match ${number}, at ${placeOf(card, card.matches[card.current][0])}`;
}

/** @param {SearchCard} card */
const step = (card, by) => goTo(card, card.current < 0 ? (by > 0 ? 0 : -1) : card.current + by);

/** @param {SearchCard} card */
function copyAll(card) {
  copyText(card.matches.map(([start, end]) => card.area.value.slice(start, end)).join("\n"), card.copies);
}

/** @param {SearchCard} card */
function show(card, found, words, count) {
  card.matches = found;
  card.current = -1;
  for (const button of [card.previous, card.next, card.copies]) button.disabled = !found.length;
  card.status.textContent = words;
  card.counted(count);
  paint(card);
  rowsOf(card);
}

/** Search again, unless it is the same text and grammar. @param {SearchCard} card */
function askMatches(card) {
  const text = card.area.value,
    key = `${grammarKey(state)}\n${text}`;
  if (card.searched === key) return;
  if (!text || !state.compiled?.ok) {
    card.searched = "";
    card.latest.drop();
    show(card, [], text ? "The grammar cannot be read yet." : "Matches that are empty are not shown.", "");
    return;
  }
  card.searched = key;
  card.latest.run(async (ask) => {
    const answer = await ask(card.server.find_matches, { ...grammarOf(state), searched: text });
    if (answer.ok) showAnswer(card, answer, text);
    else {
      card.searched = "";
      show(card, [], answer.why, "");
    }
  });
}

/** @param {SearchCard} card */
function showAnswer(card, answer, text) {
  const units = unitsIn(text),
    found = [];
  for (let i = 0; i < answer.spans.length; i += 2) found.push([units(answer.spans[i]), units(answer.spans[i + 1])]);
  const number = formatNumber(answer.count),
    some = answer.count > found.length ? `; the first ${formatNumber(found.length)} are shown` : "";
  show(
    card,
    found,
    answer.count
      ? `${number} match${answer.count === 1 ? "" : "es"}${some}${answer.why ? `; ${answer.why}` : ""}`
      : answer.why || "no match",
    String(number),
  );
}

/** The pane in ``box``; ``counted`` gets the number of matches as text.
    @param {HTMLElement} box @param {Server} server @param {(count: string) => void} counted */
export function createSearch(box, server, counted) {
  const copy = el("div.copy", { "aria-hidden": "true" });
  const area = el("textarea", {
    "aria-label": "Text to search",
    placeholder: "paste a long text: all matches of the grammar are marked",
    ...VERBATIM,
    maxlength: String(LONGEST),
  });
  const status = el("span.status.quiet", { role: "status" });
  const acts = el("span.acts");
  const list = el("ul.matches", { "aria-label": "Matches" });
  const previous = button("↑", "Previous match", () => step(card, -1));
  const next = button("↓", "Next match", () => step(card, 1));
  const copies = createButton("Copy", { class: "more", title: "Copy the matches, one a line" }, () => copyAll(card));
  acts.append(previous, next, copies);
  box.replaceChildren(el("div.head", status, acts), el("div.searched", copy, area), list);
  const latest = createLatest();
  /** @type {SearchCard} */
  const card = {
    copy,
    area,
    status,
    list,
    previous,
    next,
    copies,
    matches: [], // [start, end] in UTF-16 units
    current: -1,
    searched: "",
    latest,
    server,
    counted,
  };
  const soon = debounce(200, () => askMatches(card));
  area.addEventListener("input", () => {
    card.matches = [];
    card.current = -1;
    paint(card);
    soon();
  });
  area.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (text.length < LONG_PASTE) return;
    event.preventDefault(); // the browser takes seconds for many lines; its undo does not know this paste
    const room = LONGEST - area.value.length + (area.selectionEnd - area.selectionStart);
    area.setRangeText(text.replace(/\r\n?/g, "\n").slice(0, room), area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
  });
  area.addEventListener("scroll", () => {
    copy.scrollTop = area.scrollTop;
  });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "F3" || !card.matches.length) return;
    event.preventDefault();
    step(card, event.shiftKey ? -1 : 1);
  });
  show(card, [], "Matches that are empty are not shown.", "");
  return { ask: () => askMatches(card) };
}
