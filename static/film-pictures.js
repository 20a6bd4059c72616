/* The pictures of a film: how they are arranged, and how high each is. */

import { PROJECTED } from "./camera-state.js";
import { createButton, el } from "./dom.js";
import { isNarrow, isPresented } from "./film-state.js";
import { createGraph } from "./graph.js";

/** @import { Film } from "./film-state" */
/** @import { FilmGraph, FilmView } from "./wire" */

/** Pixels a picture may be high, by how many there are. @type {Record<number, number>} */
const ROOM = { 1: 330, 2: 240, 3: 190 };
const LARGEST = 1.35,
  SMALLEST = 0.85, // scales at which a picture opens
  BROAD = 440,
  TALL = 430, // pixels the only picture of a broad step may be high; one on phones
  SHALLOW = 130, // where the room is limited
  LOWEST = 84,
  EDGE = 26; // around a drawing
const HIGHEST = 0.72; // of the height of the window, for a picture that would be cut
const PRESENTED = 0.5; // of the height of the window, on the whole screen
const MOST = 0.45; // of the height of the window: a higher deck is not kept in view
const AROUND = 40; // pixels over and under a figure that is seen whole
const STRIP = 24; // pixels over a drawing, for its name and its button

/** The deck is kept in view, over the lower part of the pictures, only where both do not fit into the window.
    @param {Film} film */
export function placeDeck({ screens, deck }) {
  const fits = screens.offsetHeight + deck.offsetHeight + AROUND <= innerHeight;
  deck.classList.toggle("tall", fits || deck.offsetHeight > MOST * innerHeight);
}

/** The button of a picture that is larger than its box: it shows all of it, then what can be read. */
function createFit() {
  let graph = /** @type {ReturnType<typeof createGraph> | null} */ (null),
    fits = false; // because the button was pressed
  const act = () => {
    fits = !fits;
    if (fits) graph?.whole();
    else graph?.fit();
  };
  const button = createButton("", { class: "fit", hidden: true }, act);
  return {
    button,
    /** @param {ReturnType<typeof createGraph>} shown */
    of: (shown) => {
      graph = shown;
    },
    /** @param {boolean} isWhole */
    seen(isWhole) {
      fits &&= isWhole;
      button.hidden = isWhole && !fits;
      button.textContent = fits ? "Enlarge" : "Fit";
      button.title = fits
        ? "Show the part around the current state, large enough to be read"
        : "Show the whole machine";
    },
  };
}

/** @param {Film} film @param {FilmGraph} graph @param {boolean} isNamed */
function addPicture({ screens }, { name, states }, isNamed) {
  const label =
    `${name}: ${states.length} states. Arrow keys move it, plus and minus zoom, ` +
    "comma and full stop go from state to state.";
  const picture = el("div.pic", { tabindex: "0", role: "group", "aria-label": label }, el("div.canvas"));
  screens.append(el("div.screen", isNamed ? el("span.name", name) : null, picture));
  return picture;
}

/** How many pictures are seen at the same time. @param {Film} film */
const countSeen = ({ answer, pictures }) => (answer.frames.some((frame) => frame.only !== null) ? 1 : pictures.length);

/** Whether the pictures are in pairs. @param {Film} film */
function areBeside(film) {
  const count = countSeen(film),
    [top, other] = film.pictures.map((picture) => picture.getBoundingClientRect().top);
  return count > 0 && count % 2 === 0 && top === other;
}

/** Pixels that a picture is high where nothing else limits it. @param {Film} film @param {boolean} beside */
function usualHeight(film, beside) {
  const count = countSeen(film);
  if (isPresented(film)) return innerHeight * PRESENTED;
  if (isNarrow()) return TALL;
  if (count === 1 && film.figure.closest(".broad")) return BROAD;
  return ROOM[beside ? count / 2 : Math.min(3, count)];
}

/** As high as the drawing needs at the scale at which the camera opens it, so that nothing moves while it plays; up to
    ``most`` where it would be cut in the usual room.
    @param {Film} film @param {HTMLElement} picture @param {string} svg @param {number} room @param {number} most */
function heightOf(film, picture, svg, room, most) {
  const [, box] = /viewBox="([^"]+)"/.exec(svg) ?? ["", "0 0 100 100"],
    [, , wide, high] = box.split(/\s+/).map(Number);
  const largest = isPresented(film) ? PROJECTED : LARGEST,
    scale = Math.min(largest, Math.max(SMALLEST, (picture.clientWidth || 560) / (wide + 30)));
  const least = Math.min(most, high * SMALLEST + EDGE);
  return Math.round(Math.max(LOWEST, least, Math.min(room, high * scale + EDGE)));
}

/** @param {Film} film @param {FilmGraph[]} graphs */
function heightsOf(film, graphs) {
  const count = countSeen(film),
    beside = areBeside(film),
    lines = beside ? count - 1 : count;
  film.usual = usualHeight(film, beside);
  const limit = Math.max(SHALLOW, film.room() / lines),
    room = Math.min(limit, film.usual),
    most = Math.min(limit, Math.max(film.usual, HIGHEST * innerHeight));
  const heights = graphs.map(({ svg }, i) => heightOf(film, film.pictures[i], svg, room, most) + STRIP - 10);
  if (beside) heights[0] = heights[1] = Math.max(heights[0], heights[1]);
  return count < graphs.length ? heights.fill(Math.max(...heights)) : heights;
}

/** @param {HTMLElement} picture @param {FilmGraph} graph
    @param {(graph: FilmGraph, state: string | null) => void} picked */
function openGraph(picture, graph, picked) {
  const fit = createFit();
  const opened = createGraph(picture, (state) => picked(graph, state), {
    camera: { top: STRIP },
    seen: fit.seen,
  });
  fit.of(opened);
  picture.append(fit.button);
  opened.show(graph);
  return opened;
}

/** Draw other pictures; ``picked`` gets the state that a reader picks in one.
    @param {Film} film @param {FilmGraph[]} graphs
    @param {(graph: FilmGraph, state: string | null) => void} picked */
export function drawPictures(film, graphs, picked) {
  const { screens } = film;
  screens.replaceChildren();
  film.pictures = graphs.map((graph) => addPicture(film, graph, graphs.length > 1));
  const count = countSeen(film);
  screens.hidden = !graphs.length;
  screens.classList.toggle("two", count === 2);
  screens.classList.toggle("four", count === 4);
  const heights = heightsOf(film, graphs);
  film.graphs = graphs.map((graph, i) => {
    film.pictures[i].style.height = `${heights[i]}px`;
    return openGraph(film.pictures[i], graph, picked);
  });
}

/** A picture that was given more than the usual room gives it back where the deck would cover its lower part.
    @param {Film} film */
export function shrinkPictures(film) {
  const excess = film.screens.offsetHeight + film.deck.offsetHeight + AROUND - innerHeight;
  if (excess <= 0 || isPresented(film)) return;
  for (const picture of film.pictures) {
    const least = Math.min(picture.offsetHeight, film.usual);
    picture.style.height = `${Math.max(least, picture.offsetHeight - excess)}px`;
  }
}

/** Light the parts of a picture that a frame names. @param {HTMLElement} picture @param {FilmView} view */
export function lightPicture(picture, { shown, lit, arcs, dead }) {
  for (const part of picture.querySelectorAll(".now, .gone, .dead")) part.classList.remove("now", "gone", "dead");
  for (const part of picture.querySelectorAll(".node, .edge"))
    part.classList.toggle("later", Boolean(shown) && !shown?.includes(part.dataset.id || part.id));
  const partOf = (/** @type {string} */ id) =>
    picture.querySelector(`[data-id="${id}"]`) || picture.querySelector(`#${CSS.escape(id)}`);
  for (const [name, ids] of Object.entries({ now: lit, gone: arcs, dead }))
    for (const id of ids) partOf(id)?.classList.add(name);
  picture.closest(".screen").classList.toggle("unmade", shown?.length === 0);
}
