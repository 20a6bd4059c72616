/* The player of a film. A film plays once when it comes into view, without a word to screen readers, until the reader
   does something. */

import { isLast } from "./film-state.js";

/** @import { Film } from "./film-state" */

const SPEED = 1400; // milliseconds a frame: long enough to read its sentence

/** @param {Film} film @param {string} name @param {string} sign */
function namePlay({ controls }, name, sign) {
  controls.play.textContent = sign;
  controls.play.setAttribute("aria-label", name);
  controls.play.title = name;
}

/** @param {Film} film */
export function halt(film) {
  clearInterval(film.timer);
  film.timer = 0;
  film.isUnplayed = false;
  film.say.setAttribute("role", "status");
  namePlay(film, "Play", "▶");
}

/** Play from the shown frame, from the last one again. ``show`` shows a frame.
    @param {Film} film @param {(film: Film, index: number) => void} show */
function play(film, show) {
  if (isLast(film)) show(film, 0);
  namePlay(film, "Pause", "❚❚");
  film.timer = setInterval(() => {
    show(film, film.index + 1);
    if (!film.figure.isConnected || isLast(film)) halt(film);
  }, SPEED);
}

/** @param {Film} film @param {(film: Film, index: number) => void} show */
function playInView(film, show) {
  const seen = new IntersectionObserver(
    (entries) => {
      if (!film.isUnplayed || !entries.some((entry) => entry.isIntersecting)) return;
      film.isUnplayed = false;
      film.say.removeAttribute("role");
      play(film, show);
    },
    { threshold: 0.5 },
  );
  seen.observe(film.player);
}

/** @param {Film} film @param {(film: Film, index: number) => void} show */
export function listenToPlayer(film, show) {
  const { first, back, next, slider } = film.controls;
  const go = (/** @type {number} */ index) => {
    halt(film);
    show(film, index);
  };
  first.addEventListener("click", () => go(0));
  back.addEventListener("click", () => go(film.index - 1));
  next.addEventListener("click", () => go(film.index + 1));
  slider.addEventListener("input", () => go(Number(slider.value)));
  film.controls.play.addEventListener("click", () => (film.timer ? halt(film) : play(film, show)));
  for (const event of ["pointerdown", "keydown", "focusin"])
    film.figure.addEventListener(event, ({ target }) => {
      if (!film.player.contains(/** @type {Node} */ (target))) halt(film);
    });
  film.hand.addEventListener("pointerenter", () => {
    if (film.answer.takes === "tokens") halt(film);
  });
  playInView(film, show);
}
