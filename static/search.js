/* Find in a text: all matches of the grammar in a long text, coloured where they are and listed. The text is in a plain
   text area over a copy whose matches are coloured by the browser's highlights, so a long text has no more elements
   than a short one. */

import { createLatest } from "./ask.js";
import { copyText, debounce, el } from "./dom.js";
import { unitsIn } from "./paint.js";
import { grammarKey, grammarOf, state } from "./state.js";
import { addGridKeys } from "./tests.js";
import { formatNumber, visibleText } from "./tokens.js";

/** @import { Servers } from "./wire" */

/** Characters of a text, and rows of the list, at most. */
const LONGEST = 300_000,
  LISTED = 200,
  LONG_PASTE = 10_000;
/** Firefox has no highlights before version 140: there the list is all. */
const HIGHLIGHTS = typeof Highlight === "function" && globalThis.CSS?.highlights;

/** The pane in ``box``; ``counted`` gets the number of matches as text.
    @param {HTMLElement} box @param {Servers["grammar"]} server @param {(count: string) => void} counted */
export function createSearch(box, server, counted) {
  const copy = el("div", { class: "copy", "aria-hidden": "true" }),
    area = el("textarea", {
      "aria-label": "Text to search",
      placeholder: "paste a long text: all matches of the grammar are marked",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      maxlength: String(LONGEST),
    }),
    status = el("span", { class: "status quiet", role: "status" }),
    acts = el("span", { class: "acts" }),
    list = el("ul", { class: "matches", "aria-label": "Matches" });
  const button = (label, title, act) =>
    el("button", { type: "button", class: "more", title, "aria-label": title, onclick: act }, label);
  const previous = button("↑", "Previous match", () => step(-1)),
    next = button("↓", "Next match", () => step(1)),
    copies = el(
      "button",
      { type: "button", class: "more", title: "Copy the matches, one a line", onclick: copyAll },
      "Copy",
    );
  acts.append(previous, next, copies);
  box.replaceChildren(el("div", { class: "head" }, status, acts), el("div", { class: "searched" }, copy, area), list);

  let matches = [], // [start, end] in UTF-16 units
    now = -1,
    asked = "";
  const latest = createLatest();

  /** Colour all matches, and the current one apart. */
  function paint() {
    if (copy.firstChild?.data !== area.value) copy.replaceChildren(document.createTextNode(area.value));
    if (!HIGHLIGHTS) return;
    const node = copy.firstChild,
      range = ([start, end]) => {
        const made = new Range();
        made.setStart(node, start);
        made.setEnd(node, end);
        return made;
      };
    // matches that touch have two colours in turn
    const odd = matches.filter((_, index) => index % 2),
      even = matches.filter((_, index) => !(index % 2));
    HIGHLIGHTS.set("wb-match", new Highlight(...(node ? even.map(range) : [])));
    HIGHLIGHTS.set("wb-match-odd", new Highlight(...(node ? odd.map(range) : [])));
    HIGHLIGHTS.set("wb-match-now", new Highlight(...(node && matches[now] ? [range(matches[now])] : [])));
  }

  /** Line and column of a place, from 1. */
  function placeOf(at) {
    const before = area.value.slice(0, at),
      line = before.split("\n").length;
    return `${line}:${[...before.slice(before.lastIndexOf("\n") + 1)].length + 1}`;
  }

  function rows() {
    const made = matches.slice(0, LISTED).map(([start, end], index) => {
      const text = area.value.slice(start, end),
        word = el("span", { class: "text" });
      word.append(visibleText(text.length > 120 ? `${text.slice(0, 119)}…` : text));
      return el(
        "li",
        { class: index === now ? "now" : "" },
        el(
          "button",
          { type: "button", class: "link", title: "Go to this match", onclick: () => go(index) },
          el("span", { class: "at" }, placeOf(start)),
          word,
        ),
      );
    });
    if (matches.length > LISTED)
      made.push(el("li", { class: "quiet" }, `and ${formatNumber(matches.length - LISTED)} more`));
    list.replaceChildren(...made);
    addGridKeys(list);
  }

  /** Make a match the current one and bring it into sight. */
  function go(index) {
    if (!matches.length) return;
    list.children[now]?.classList.remove("now");
    now = (index + matches.length) % matches.length;
    list.children[now]?.classList.add("now");
    paint();
    const range = new Range(),
      node = copy.firstChild;
    range.setStart(node, matches[now][0]);
    range.setEnd(node, matches[now][1]);
    const place = range.getBoundingClientRect(),
      seen = copy.getBoundingClientRect();
    if (place.top < seen.top || place.bottom > seen.bottom)
      area.scrollTop += place.top - seen.top - (seen.height - place.height) / 2;
    copy.scrollTop = area.scrollTop;
    area.setSelectionRange(...matches[now]);
    const number = `${formatNumber(now + 1)} of ${formatNumber(matches.length)}`;
    status.textContent = `match ${number}, at ${placeOf(matches[now][0])}`;
  }
  const step = (by) => go(now < 0 ? (by > 0 ? 0 : -1) : now + by);

  function copyAll() {
    copyText(matches.map(([start, end]) => area.value.slice(start, end)).join("\n"), copies);
  }

  function show(found, words, count) {
    matches = found;
    now = -1;
    for (const each of [previous, next, copies]) each.disabled = !found.length;
    status.textContent = words;
    counted(count);
    paint();
    rows();
  }

  /** Search again, unless it is the same text and grammar. */
  function ask() {
    const text = area.value,
      key = `${grammarKey(state)}\n${text}`;
    if (asked === key) return;
    if (!text || !state.compiled?.ok) {
      asked = "";
      latest.drop();
      show([], text ? "The grammar cannot be read yet." : "Matches that are empty are not shown.", "");
      return;
    }
    asked = key;
    latest.run(async (ask) => {
      const answer = await ask(server.find_matches, { ...grammarOf(state), searched: text });
      if (answer.ok) showAnswer(answer, text);
      else {
        asked = "";
        show([], answer.why || answer.fault, "");
      }
    });
  }
  function showAnswer(answer, text) {
    const units = unitsIn(text),
      found = [];
    for (let i = 0; i < answer.spans.length; i += 2) found.push([units(answer.spans[i]), units(answer.spans[i + 1])]);
    const number = formatNumber(answer.count),
      some = answer.count > found.length ? `; the first ${formatNumber(found.length)} are shown` : "";
    show(
      found,
      answer.count
        ? `${number} match${answer.count === 1 ? "" : "es"}${some}${answer.why ? `; ${answer.why}` : ""}`
        : answer.why || "no match",
      String(number),
    );
  }
  const soon = debounce(200, ask);

  area.addEventListener("input", () => {
    matches = [];
    now = -1;
    paint();
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
    if (event.key !== "F3" || !matches.length) return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  });
  show([], "Matches that are empty are not shown.", "");
  return { ask };
}
