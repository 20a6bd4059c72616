/* What a step is about: its grammar, its tokens and its merge rules. */

import { el } from "./dom.js";
import { colour } from "./notations.js";

/** @import { FilmFrame, LessonWorld, Span } from "./wire" */

const MOST_MERGES = 12; // that are shown without a fold

/** The rows of a coloured text, cut at the ends of the spans, whose text is marked.
    @param {string} text @param {string} notation @param {Span[]} spans */
function colouredRows(text, notation, spans) {
  const edges = [...new Set(spans.flatMap(({ start, end }) => [start, end]))].sort((one, other) => one - other),
    rows = [/** @type {HTMLElement[]} */ ([])];
  let offset = 0;
  for (const [piece, name] of colour(text, notation)) {
    const end = offset + piece.length,
      cuts = [offset, ...edges.filter((edge) => edge > offset && edge < end), end];
    for (const [i, stop] of cuts.slice(1).entries()) {
      const isMarked = spans.some((span) => span.start <= cuts[i] && stop <= span.end);
      const className = [name, isMarked && "place"].filter(Boolean).join(" ") || null;
      for (const [j, part] of piece
        .slice(cuts[i] - offset, stop - offset)
        .split("\n")
        .entries()) {
        if (j) rows.push([]);
        if (part) rows[rows.length - 1].push(el("span", { class: className }, part));
      }
    }
    offset = end;
  }
  return rows;
}

/** A row of the listing; lit if its rule is being read. @param {HTMLElement[]} parts @param {string[]} rules */
function createRow(parts, rules) {
  const row = el("span.row", ...parts, "\n"),
    name = row.querySelector(".rule")?.textContent.trim();
  row.classList.toggle("outer", rules.includes(name));
  row.classList.toggle("live", rules.length > 0 && name === rules.at(-1));
  return row;
}

/** @param {string[]} texts */
const chipsOf = (texts) => texts.map((text) => el("span.chip", text));

/** @param {string} name @param {string[]} texts */
const vocabularyOf = (name, texts) => el("p.vocabulary", el("span.quiet", `${name} `), ...chipsOf(texts));

/** Merge rules in rank order; many of them fold away. @param {string[]} merges */
function mergesOf(merges) {
  const rules = merges.map((rule, i) => `${i + 1} ${rule}`);
  if (merges.length <= MOST_MERGES) return vocabularyOf("merges", rules);
  return el("details.merges", el("summary", `${merges.length} merge rules`), el("p.vocabulary", ...chipsOf(rules)));
}

/** ``light`` lights the rules that a frame reads, and marks what could have read on.
    @param {LessonWorld} world */
export function createGiven({ text, notation, tokens, merges }) {
  const label = notation === "regex" ? "The regex of this step" : "The grammar of this step",
    listing = el("pre.paint", { tabindex: "0", role: "region", "aria-label": label });
  /** @param {string[]} rules @param {Span[]} spans */
  const paint = (rules, spans) =>
    listing.replaceChildren(...colouredRows(text, notation, spans).map((parts) => createRow(parts, rules)));
  paint([], []);
  const box = el(
    "div.given",
    text ? listing : null,
    tokens.length ? vocabularyOf("tokens", tokens) : null,
    merges.length ? mergesOf(merges) : null,
  );
  /** @param {FilmFrame} frame @param {Span[]} [spans] */
  const light = (frame, spans = []) => paint(frame.rules, spans);
  return { box, light };
}
