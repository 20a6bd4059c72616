/* The state of a figure of a lesson: its frames, its pictures, and the elements that show them. */

import { createLatest } from "./ask.js";
import { el } from "./dom.js";

/** @import { createGraph } from "./graph.js" */
/** @import { Answer, FilmAnswer, FilmFrame, Refusal, Span, Why } from "./wire" */

/** ``ask`` and ``why`` ask the server for frames and for the reason why a token is forbidden. ``framed`` gets the shown
    frame, ``arrived`` the request of the shown film; ``room`` returns how high all pictures together may be.
    @typedef {{
      ask: (sent: object) => Promise<FilmAnswer | Refusal>,
      why?: ((sent: object) => Promise<Why | Refusal>) | null,
      framed?: (frame: FilmFrame, spans?: Span[]) => void, arrived?: (sent: object) => void, room?: () => number,
    }} FilmDoors */

/** ``index`` is that of the shown frame; ``timer``: that of the player, or 0; ``isUnplayed``: it plays when it
    comes into view; ``usual``: pixels that a picture may be high; ``load`` asks for the film that a reader's text or
    tokens make, ``again`` for the pictures that are there.
    @typedef {ReturnType<typeof createState>} Film */

/** @param {string} name @param {string} sign */
const createButton = (name, sign) => el("button.icon", { "aria-label": name, title: name }, sign);

/** The buttons of the player, its slider and the number of the frame. */
const createControls = () => ({
  first: createButton("First frame", "«"),
  back: createButton("Frame before", "‹"),
  play: createButton("Play", "▶"),
  next: createButton("Next frame", "›"),
  slider: el("input", { type: "range", min: "0", value: "0", step: "1", "aria-label": "Frame" }),
  count: el("span.count"),
});

/** @type {Answer<FilmAnswer>} */
const NO_ANSWER = { ok: true, takes: "", opens_at: 0, taken: [], frames: [], graphs: [] };

/** A film that has not been loaded. @param {FilmDoors} doors @param {string} caption */
export function createState(doors, caption) {
  const screens = el("div.screens"),
    bars = el("div.bars", { hidden: true }),
    rows = el("div.rows");
  const controls = createControls(),
    say = el("p.say", { role: "status" }, "Drawing…"),
    player = el("div.player", { role: "group", "aria-label": "Steps of the figure" }, ...Object.values(controls)),
    hand = el("div.hand"),
    deck = el("div.deck", rows, say, player, hand),
    reason = el("div.because", { hidden: true });
  player.hidden = true;
  return {
    framed: () => {},
    arrived: () => {},
    room: () => Infinity,
    ...doors,
    figure: el("figure.film", screens, bars, deck, reason, el("figcaption", caption)),
    screens,
    bars,
    rows,
    say,
    player,
    hand,
    deck,
    reason,
    controls,
    latest: createLatest(),
    /** @type {(given: string | number[] | null, again: boolean) => Promise<unknown>} */
    load: async () => {},
    answer: NO_ANSWER,
    index: 0,
    timer: 0,
    isUnplayed: false,
    pictures: /** @type {HTMLElement[]} */ ([]),
    graphs: /** @type {ReturnType<typeof createGraph>[]} */ ([]),
    usual: 0,
  };
}

/** Whether the film is shown on the whole screen. @param {Film} film */
export const isPresented = ({ figure }) => Boolean(figure.closest(".fullscreen"));

export const isNarrow = () => innerWidth < 560;

/** @param {Film} film */
export const isLast = ({ answer, index }) => index === answer.frames.length - 1;

/** A sentence in the place of that of the frame, with the sign of a fault.
    @param {Film} film @param {string} why */
export const sayFault = ({ say }, why) => say.replaceChildren(el("b.no", "✗ "), why);
