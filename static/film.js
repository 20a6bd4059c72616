/* A figure of a lesson: fixed pictures, and frames that say which parts of them are lit. A reader steps through the
   frames, types a text or takes tokens. A film plays once when it comes into view; where the reader prefers reduced
   motion it opens at its last frame. */

import { createLatest } from "./ask.js";
import { PROJECTED } from "./camera-state.js";
import { debounce, el, roving } from "./dom.js";
import { createGraph } from "./graph.js";
import { shades } from "./measures.js";
import { whyNodes } from "./why.js";

/** @import { FilmAnswer, FilmFrame, Refusal, Span } from "./wire" */

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const SPEED = 1400; // milliseconds a frame: long enough to read its sentence
const LARGEST = 1.35,
  SMALLEST = 0.85,
  ROOM = { 1: 330, 2: 240, 3: 190 },
  BROAD = 440,
  TALL = 430, // pixels a picture may be high, by how many there are; on phones
  SHALLOW = 130, // where the room is limited
  EDGE = 26, // around a drawing
  STRIP = 24; // over a drawing, for its name and its button
const HIGHEST = 0.72; // of the height of the window, for a picture that would be cut
const PRESENTED = 0.5; // of the height of the window, on the whole screen
const MOST = 0.45; // of the height of the window: a higher deck is not kept in view
const AROUND = 40; // pixels over and under a figure that is seen whole

/** The button of a picture that is larger than its box: it shows all of it, then what can be read. */
function createFit() {
  let graph = /** @type {ReturnType<typeof createGraph> | null} */ (null),
    fits = false; // because the button was pressed
  const act = () => {
    fits = !fits;
    if (fits) graph?.whole();
    else graph?.fit();
  };
  const button = el("button", { type: "button", class: "fit", hidden: true, onclick: act });
  return {
    button,
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

/** @param {(sent: object) => Promise<FilmAnswer | Refusal>} ask @param {string} caption
    @param {{ framed?: (frame: FilmFrame, spans?: Span[]) => void, why?: ((sent: object) => Promise<any>) | null,
      arrived?: (sent: object) => void, room?: () => number }} [doors] `arrived` gets the request of the shown
      film, `room` returns how high all pictures together may be */
export function createFilm(
  ask,
  caption,
  { framed = () => {}, why = null, arrived = () => {}, room: whole = () => Infinity } = {},
) {
  const screens = el("div", { class: "screens" }),
    bars = el("div", { class: "bars", hidden: true }),
    rows = el("div", { class: "rows" });
  const say = el("p", { class: "say", role: "status" }, "Drawing…"),
    player = el("div", { class: "player", role: "group", "aria-label": "Steps of the figure" }),
    hand = el("div", { class: "hand" }),
    deck = el("div", { class: "deck" }, rows, say, player, hand),
    reason = el("div", { class: "because", hidden: true });
  const figure = el("figure", { class: "film" }, screens, bars, deck, reason, el("figcaption", {}, caption));
  let film = /** @type {any} */ (null),
    at = 0,
    timer = 0,
    unplayed = false,
    pictures = [],
    moved = [],
    usual = 0; // pixels that a picture may be high
  const narrow = () => innerWidth < 560,
    presented = () => Boolean(figure.closest(".fullscreen"));
  const latest = createLatest();

  /** The deck is kept in view, over the lower part of the pictures, only where both do not fit into the window. */
  const sized = () => {
    const fits = screens.offsetHeight + deck.offsetHeight + AROUND <= innerHeight;
    deck.classList.toggle("tall", fits || deck.offsetHeight > MOST * innerHeight);
  };
  for (const each of [deck, screens]) new ResizeObserver(sized).observe(each);

  // the page scrolls over a figure; with Ctrl the wheel zooms it
  screens.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) event.stopPropagation();
    },
    { capture: true, passive: true },
  );

  // -- pictures -----------------------------------------------------------------------------
  function draw(graphs) {
    screens.replaceChildren();
    pictures = graphs.map((graph) => {
      const pic = el(
        "div",
        {
          class: "pic",
          tabindex: "0",
          role: "group",
          "aria-label":
            `${graph.name}: ${graph.states.length} states. Arrow keys move it, plus and minus zoom, ` +
            "comma and full stop go from state to state.",
        },
        el("div", { class: "canvas" }),
      );
      screens.append(
        el("div", { class: "screen" }, graphs.length > 1 ? el("span", { class: "name" }, graph.name) : null, pic),
      );
      return pic;
    });
    const single = film.frames.some((frame) => frame.only !== null), // one picture for each step
      together = single ? 1 : graphs.length;
    screens.hidden = !graphs.length;
    screens.classList.toggle("two", together === 2);
    screens.classList.toggle("four", together === 4);
    const beside =
      together % 2 === 0 &&
      together > 0 &&
      pictures[0].getBoundingClientRect().top === pictures[1].getBoundingClientRect().top;
    const lines = beside ? 1 + (together > 2 ? together - 2 : 0) : together;
    usual = presented()
      ? innerHeight * PRESENTED
      : narrow()
        ? TALL
        : together === 1 && figure.closest(".broad")
          ? BROAD
          : ROOM[beside ? together / 2 : Math.min(3, together)];
    const limit = Math.max(SHALLOW, whole() / lines),
      room = Math.min(limit, usual),
      most = Math.min(limit, Math.max(usual, HIGHEST * innerHeight));
    const heights = graphs.map((graph, i) => height(pictures[i], graph.svg, room, most) + STRIP - 10);
    if (beside) heights[0] = heights[1] = Math.max(heights[0], heights[1]);
    if (single) heights.fill(Math.max(...heights));
    graphs.forEach((graph, i) => {
      pictures[i].style.height = `${heights[i]}px`;
      const fit = createFit();
      moved[i] = createGraph(pictures[i], (state) => about(graph, state), {
        camera: { top: STRIP },
        seen: fit.seen,
      });
      fit.of(moved[i]);
      pictures[i].append(fit.button);
      moved[i].show(graph);
    });
  }
  /** As high as the drawing needs at the scale at which the camera opens it, so that nothing moves while it plays; up
      to `most` where it would be cut in the usual room. */
  function height(pic, svg, room, most) {
    const found = /viewBox="([^"]+)"/.exec(svg),
      [, , wide, high] = (found ? found[1] : "0 0 100 100").split(/\s+/).map(Number);
    const scale = Math.min(
      presented() ? PROJECTED : LARGEST,
      Math.max(SMALLEST, (pic.clientWidth || 560) / (wide + 30)),
    );
    const least = Math.min(most, high * SMALLEST + EDGE);
    return Math.round(Math.max(84, least, Math.min(room, high * scale + EDGE)));
  }
  /** A picture that was given more than the usual room gives it back where the deck would cover its lower part. */
  function shrink() {
    const over = screens.offsetHeight + deck.offsetHeight + AROUND - innerHeight;
    if (over <= 0 || presented()) return;
    for (const pic of pictures) {
      const least = Math.min(pic.offsetHeight, usual);
      pic.style.height = `${Math.max(least, pic.offsetHeight - over)}px`;
    }
  }
  /** What a picked state reads, in the place of the sentence. */
  function about(graph, state) {
    if (!film) return;
    if (state === null) {
      show(at);
      return;
    }
    const name = (id) => graph.states.find((each) => each.id === id)?.label || id;
    const ways = graph.edges
      .filter((edge) => edge.source === state)
      .map((edge) => `${edge.labels.join(", ").replace(/\n/g, " ") || "a call"} → ${name(edge.target)}`);
    say.replaceChildren(el("b", {}, `State ${name(state)}: `), ways.join("; ") || "no edge leaves it");
  }
  const part = (pic, id) => pic.querySelector(`[data-id="${id}"]`) || pic.querySelector(`#${CSS.escape(id)}`);

  function light(pic, view) {
    for (const found of pic.querySelectorAll(".now, .gone, .dead")) found.classList.remove("now", "gone", "dead");
    const shown = view.shown && new Set(view.shown);
    for (const found of pic.querySelectorAll(".node, .edge"))
      found.classList.toggle("later", Boolean(shown) && !shown.has(found.dataset.id || found.id));
    for (const [ids, name] of [
      [view.lit, "now"],
      [view.arcs, "gone"],
      [view.dead, "dead"],
    ])
      for (const id of ids) part(pic, id)?.classList.add(name);
    pic.closest(".screen").classList.toggle("unmade", Boolean(shown) && !shown.size);
  }

  // -- what stands under them -----------------------------------------------------------------
  const percent = (p) => `${(100 * p).toFixed(1).replace(/\.0$/, "")} %`;
  function bar(share, name) {
    return el("span", { class: "track" }, el("i", { class: name, style: `width:${(100 * share).toFixed(2)}%` }));
  }
  function showBars(frame) {
    bars.hidden = !frame.bars.length;
    if (bars.hidden) return;
    const line = (b) =>
      el(
        "tr",
        { class: b.after === null ? "no" : b.taken ? "taken" : null },
        el("th", { scope: "row" }, b.text),
        el("td", {}, bar(b.before, "before"), percent(b.before)),
        el(
          "td",
          {},
          b.after === null ? el("span", { class: "quiet" }, "✕ forbidden") : bar(b.after, "after"),
          b.after === null ? null : percent(b.after),
        ),
      );
    bars.replaceChildren(
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el("tr", {}, ...["token", "before the mask", "after the mask"].map((h) => el("th", { scope: "col" }, h))),
        ),
        el("tbody", {}, ...frame.bars.map(line)),
      ),
    );
  }
  function showRows(frame) {
    rows.replaceChildren(
      ...frame.rows.map((row) =>
        el(
          "div",
          { class: "line" },
          el("span", { class: "what" }, row.name),
          el(
            "span",
            { class: "chips" },
            row.chips.length ? null : el("span", { class: "what" }, at === 0 ? "none yet" : "none"),
            ...row.chips.map((text, i) => chip(row, text, i)),
          ),
        ),
      ),
    );
  }
  /** A chip; where it is a token of a model, as dark as the model was surprised by it. */
  function chip(row, text, i) {
    const bits = row.bits[i],
      how = bits === undefined ? null : shades.all.surprisal;
    const place = i === row.now ? " now" : i === row.next ? " next" : "",
      reads = row.name === "reads" ? { " now": "just read", " next": "read next" }[place] : null;
    return el(
      "span",
      {
        class: `chip${place}${how ? ` b${how.bin({ s: bits })}` : ""}`,
        title: how ? how.words({ s: bits }) : reads,
      },
      text,
    );
  }

  function show(index) {
    at = Math.max(0, Math.min(film.frames.length - 1, index));
    const frame = film.frames[at];
    pictures.forEach((pic, i) => {
      const view = frame.only === null ? frame.views[i] : i === frame.only ? frame.views[0] : null;
      pic.closest(".screen").hidden = frame.only !== null && !view;
      if (!view) return;
      light(pic, view);
      moved[i].current(view.lit[0]);
      if (view.lit.length) moved[i].reveal(view.lit[0]);
    });
    framed(frame);
    reason.hidden = true;
    showBars(frame);
    showRows(frame);
    say.replaceChildren(
      ...(frame.good === null ? [] : [el("b", { class: frame.good ? "good" : "no" }, frame.good ? "✓ " : "✗ ")]),
      frame.say,
    );
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `${at + 1} of ${film.frames.length}: ${frame.say}`);
    count.textContent = `${at + 1} / ${film.frames.length}`;
    [first.disabled, back.disabled, next.disabled] = [at === 0, at === 0, at === film.frames.length - 1];
    if (film.takes === "tokens") tokens(frame);
  }

  // -- the player ------------------------------------------------------------------------------
  const button = (name, sign, act) =>
    el("button", { type: "button", class: "icon", "aria-label": name, title: name, onclick: act }, sign);
  const halt = () => {
    clearInterval(timer);
    timer = 0;
    unplayed = false;
    say.setAttribute("role", "status");
    play.textContent = "▶";
    play.setAttribute("aria-label", "Play");
    play.title = "Play";
  };
  const go = (index) => {
    halt();
    show(index);
  };
  const first = button("First frame", "«", () => go(0)),
    back = button("Frame before", "‹", () => go(at - 1)),
    next = button("Next frame", "›", () => go(at + 1));
  const play = button("Play", "▶", () => (timer ? halt() : roll()));
  function roll() {
    if (at === film.frames.length - 1) show(0);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "Pause");
    play.title = "Pause";
    timer = setInterval(() => {
      show(at + 1);
      if (!figure.isConnected || at === film.frames.length - 1) halt();
    }, SPEED);
  }
  /** Plays once, without a word to screen readers, until the reader does something. */
  const seen = new IntersectionObserver(
    (entries) => {
      if (!unplayed || !entries.some((entry) => entry.isIntersecting)) return;
      unplayed = false;
      say.removeAttribute("role");
      roll();
    },
    { threshold: 0.5 },
  );
  seen.observe(player);
  for (const event of ["pointerdown", "keydown", "focusin"])
    figure.addEventListener(event, ({ target }) => {
      if (!player.contains(target)) halt();
    });
  hand.addEventListener("pointerenter", () => {
    if (film?.takes === "tokens") halt();
  });
  const slider = el("input", {
    type: "range",
    min: "0",
    value: "0",
    step: "1",
    "aria-label": "Frame",
    oninput: () => go(Number(slider.value)),
  });
  const count = el("span", { class: "count" });
  player.append(first, back, play, next, slider, count);
  player.hidden = true;

  // -- what a reader hands in ---------------------------------------------------------------------
  function load(given, again) {
    halt();
    return latest.run(async (request) => {
      const sent = { given, again, narrow: narrow() };
      take(await request(ask, sent), again, sent);
    });
  }
  function take(answer, again, sent) {
    if (answer.fault || !answer.ok) {
      screens.hidden = !film;
      say.replaceChildren(el("b", { class: "no" }, "✗ "), answer.fault || answer.why);
      return;
    }
    film = answer;
    arrived(sent);
    if (!again) draw(answer.graphs);
    player.hidden = film.frames.length < 2;
    slider.max = String(film.frames.length - 1);
    if (!again && film.takes === "text") typing();
    const first = !again && film.opens_at === 0 && film.frames.length > 1;
    show(first && calm.matches ? film.frames.length - 1 : film.opens_at);
    if (!again) shrink();
    unplayed = first && !calm.matches;
  }
  function typing() {
    const input = el("input", {
      maxlength: "60",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      placeholder: "Type a text of your own",
      "aria-label": "A text for the machine to read",
    });
    const later = debounce(90, () => load(input.value || null, true));
    input.addEventListener("input", () => later());
    hand.replaceChildren(input);
  }
  /** The tokens that may follow in this frame, as buttons; a forbidden one says why. */
  function tokens(frame) {
    if (!frame.choices.length) {
      hand.replaceChildren(el("button", { type: "button", onclick: () => load([], true) }, "Begin again"));
      return;
    }
    const kept = film.taken.slice(0, frame.rows.find((row) => row.name === "tokens")?.chips.length ?? 0);
    const focused = hand.contains(document.activeElement) ? (document.activeElement?.textContent ?? null) : null;
    const choose = (choice) => () => {
      if (choice.ok) load([...kept, choice.id], true);
      else refuse(choice, kept);
    };
    const made = frame.choices.map((choice) =>
      el(
        "button",
        {
          type: "button",
          class: choice.ok ? "token" : "token no",
          title: choice.why || null,
          "aria-label": choice.ok ? `take ${choice.text}` : `${choice.text}, forbidden: ${choice.why}`,
          onclick: choose(choice),
        },
        choice.text,
      ),
    );
    const again = el(
      "button",
      { type: "button", class: "link", hidden: !kept.length, onclick: () => load([], true) },
      "Begin again",
    );
    hand.replaceChildren(el("span", { class: "what" }, "take"), ...made, again);
    const stops = [...hand.querySelectorAll("button")];
    const stop = stops.find((each) => focused !== null && each.textContent === focused) || stops[0];
    for (const each of stops) each.tabIndex = each === stop ? 0 : -1;
    if (focused !== null) stop.focus();
  }
  /** A forbidden token: immediately a sentence, then all that is known of it. */
  function refuse(choice, kept) {
    halt();
    say.replaceChildren(el("b", { class: "no" }, "✗ "), `${choice.text}: ${choice.why}`);
    if (why) latest.run(async (request) => explain(await request(why, { given: kept, token: choice.id })));
  }
  function explain(answer) {
    if (!answer.ok) return;
    reason.replaceChildren(whyNodes(answer));
    // its links lead into the editor, which holds another grammar: here they only tell
    for (const link of reason.querySelectorAll("button"))
      link.replaceWith(el("span", { class: link.className }, ...link.childNodes));
    reason.hidden = false;
    framed(film.frames[at], answer.spans);
  }
  roving(hand, (chosen) => {
    for (const each of hand.querySelectorAll("button")) each.tabIndex = each === chosen ? 0 : -1;
  });

  return {
    figure,
    load: () => load(null, false),
    /** The number of the frame, and the pictures in which something is shown. */
    now: () => ({
      frame: at,
      pictures: pictures.filter((pic) => !pic.closest(".screen").matches("[hidden], .unmade")),
    }),
    first: () => film && go(0),
    /** Go on by a number of frames; returns whether there is such a frame. */
    step: (by) => {
      if (!film?.frames[at + by]) return false;
      go(at + by);
      return true;
    },
    last: () => {
      halt();
      if (film) show(film.frames.length - 1);
    },
  };
}
