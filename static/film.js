/* A figure of a lesson: fixed pictures, and frames that say which parts of them are lit. A reader steps through the
   frames, types a text or takes tokens. A film plays once when it comes into view; where the reader prefers reduced
   motion it opens at its last frame. */

import { describeState, show } from "./film-frame.js";
import { listenToChoices, showField } from "./film-hand.js";
import { drawPictures, placeDeck, shrinkPictures } from "./film-pictures.js";
import { halt, listenToPlayer } from "./film-player.js";
import { createState, isNarrow, sayFault } from "./film-state.js";

/** @import { Film, FilmDoors } from "./film-state" */
/** @import { Answer, FilmAnswer, Refusal } from "./wire" */

const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Ask for a film; ``again``: of the pictures that are there.
    @param {Film} film @param {string | number[] | null} given @param {boolean} again */
function load(film, given, again) {
  halt(film);
  return film.latest.run(async (ask) => {
    const sent = { given, again, narrow: isNarrow() };
    take(film, await ask(film.ask, sent), again, sent);
  });
}

/** @param {Film} film @param {Answer<FilmAnswer | Refusal>} answer @param {boolean} again @param {object} sent */
function take(film, answer, again, sent) {
  if (!answer.ok) {
    film.screens.hidden = !film.pictures.length;
    sayFault(film, answer.why || "");
    return;
  }
  film.answer = answer;
  film.arrived(sent);
  const last = answer.frames.length - 1;
  if (!again) drawPictures(film, answer.graphs, (graph, state) => describeState(film, graph, state));
  film.player.hidden = last < 1;
  film.controls.slider.max = String(last);
  if (!again && answer.takes === "text") showField(film);
  const isFirst = !again && answer.opens_at === 0 && last > 0;
  show(film, isFirst && calm.matches ? last : answer.opens_at);
  if (!again) shrinkPictures(film);
  film.isUnplayed = isFirst && !calm.matches;
}

/** Go to a frame; returns whether there is such a frame. @param {Film} film @param {number} index */
function go(film, index) {
  if (!film.answer.frames[index]) return false;
  halt(film);
  show(film, index);
  return true;
}

/** @param {FilmDoors["ask"]} ask @param {string} caption @param {Omit<FilmDoors, "ask">} [doors] */
export function createFilm(ask, caption, doors = {}) {
  const film = createState({ ...doors, ask }, caption),
    { deck, screens } = film;
  film.load = (given, again) => load(film, given, again);
  for (const box of [deck, screens]) new ResizeObserver(() => placeDeck(film)).observe(box);
  // the page scrolls over a figure; with Ctrl the wheel zooms it
  screens.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) event.stopPropagation();
    },
    { capture: true, passive: true },
  );
  listenToPlayer(film, show);
  listenToChoices(film);
  return {
    figure: film.figure,
    load: () => load(film, null, false),
    /** The number of the frame, and the pictures in which something is shown. */
    now: () => ({
      frame: film.index,
      pictures: film.pictures.filter((picture) => !picture.closest(".screen").matches("[hidden], .unmade")),
    }),
    first: () => go(film, 0),
    /** Go on by a number of frames; returns whether there is such a frame. @param {number} by */
    step: (by) => go(film, film.index + by),
    last: () => go(film, film.answer.frames.length - 1),
  };
}
