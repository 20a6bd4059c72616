/* A frame of a film: what is lit in its pictures, the sentence, the tokens and their probabilities. */

import { createTable, el } from "./dom.js";
import { showChoices } from "./film-hand.js";
import { lightPicture } from "./film-pictures.js";
import { isLast } from "./film-state.js";
import { shades } from "./measures.js";

/** @import { Film } from "./film-state" */
/** @import { FilmBar, FilmFrame, FilmGraph, FilmRow } from "./wire" */

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(1).replace(/\.0$/, "")} %`;

/** @param {number} share @param {string} name */
const createTrack = (share, name) =>
  el("span.track", el("i", { class: name, style: `width:${(100 * share).toFixed(2)}%` }));

/** The probabilities of a token. @param {FilmBar} bar */
const createBar = ({ text, before, after, taken }) =>
  el(
    "tr",
    { class: after === null ? "no" : taken ? "taken" : null },
    el("th", { scope: "row" }, text),
    el("td", createTrack(before, "before"), percent(before)),
    after === null ? el("td", el("span.quiet", "✕ forbidden")) : el("td", createTrack(after, "after"), percent(after)),
  );

/** @param {Film} film @param {FilmBar[]} bars */
function showBars(film, bars) {
  film.bars.hidden = !bars.length;
  if (film.bars.hidden) return;
  film.bars.replaceChildren(createTable(["token", "before the mask", "after the mask"], bars.map(createBar)));
}

/** @type {Record<string, string>} */
const READS = { now: "just read", next: "read next" };

/** A chip; where it is a token of a model, as dark as the model was surprised by it.
    @param {FilmRow} row @param {string} text @param {number} i */
function createChip(row, text, i) {
  const bits = row.bits[i],
    shade = bits === undefined ? null : shades.all.surprisal;
  const place = i === row.now ? "now" : i === row.next ? "next" : "",
    reads = row.name === "reads" ? READS[place] : null;
  const classes = ["chip", place, shade && `b${shade.bin({ s: bits })}`].filter(Boolean);
  return el("span", { class: classes.join(" "), title: shade ? shade.words({ s: bits }) : reads }, text);
}

/** @param {FilmRow} row @param {string} none what an empty line says */
const createRow = (row, none) =>
  el(
    "div.line",
    el("span.what", row.name),
    el(
      "span.chips",
      row.chips.length ? null : el("span.what", none),
      ...row.chips.map((text, i) => createChip(row, text, i)),
    ),
  );

/** @param {Film} film @param {FilmFrame} frame */
function showViews({ pictures, graphs }, { only, views }) {
  for (const [i, picture] of pictures.entries()) {
    const view = only === null ? views[i] : i === only ? views[0] : null;
    picture.closest(".screen").hidden = only !== null && !view;
    if (!view) continue;
    lightPicture(picture, view);
    graphs[i].current(view.lit[0]);
    if (view.lit.length) graphs[i].reveal(view.lit[0]);
  }
}

/** @param {Film} film */
function showPosition(film) {
  const { answer, index } = film,
    { first, back, next, slider, count } = film.controls;
  slider.value = String(index);
  slider.setAttribute("aria-valuetext", `${index + 1} of ${answer.frames.length}: ${answer.frames[index].say}`);
  count.textContent = `${index + 1} / ${answer.frames.length}`;
  first.disabled = back.disabled = index === 0;
  next.disabled = isLast(film);
}

/** @param {Film} film @param {number} index */
export function show(film, index) {
  const { answer, say } = film;
  film.index = Math.max(0, Math.min(answer.frames.length - 1, index));
  const frame = answer.frames[film.index];
  showViews(film, frame);
  film.framed(frame);
  film.reason.hidden = true;
  showBars(film, frame.bars);
  film.rows.replaceChildren(...frame.rows.map((row) => createRow(row, film.index ? "none" : "none yet")));
  const sign = frame.good === null ? "" : el("b", { class: frame.good ? "good" : "no" }, frame.good ? "✓ " : "✗ ");
  say.replaceChildren(sign, frame.say);
  showPosition(film);
  if (answer.takes === "tokens") showChoices(film, frame);
}

/** What a picked state reads, in the place of the sentence.
    @param {Film} film @param {FilmGraph} graph @param {string | null} state */
export function describeState(film, graph, state) {
  if (state === null) {
    show(film, film.index);
    return;
  }
  const nameOf = (/** @type {string} */ id) => graph.states.find((each) => each.id === id)?.label || id;
  const ways = graph.edges
    .filter((edge) => edge.source === state)
    .map((edge) => `${edge.labels.join(", ").replace(/\n/g, " ") || "a call"} → ${nameOf(edge.target)}`);
  film.say.replaceChildren(el("b", `State ${nameOf(state)}: `), ways.join("; ") || "no edge leaves it");
}
