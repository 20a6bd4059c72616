/* One machine of a grammar as a picture that follows the run. The server lays it out once: a run moves what is drawn
   over it and the part that is in view. The old picture stays until the new one arrives; every token lights its
   states. */

import { createLatest } from "./ask.js";
import { debounce, el } from "./dom.js";
import { createGraph, passedBy } from "./graph.js";
import { cards, emit, grammarKey, grammarOf, on, state } from "./state.js";
import { saved } from "./storage.js";
import { readOf } from "./tokens.js";
import { treeRequest } from "./tree.js";

/** @import { Answer, Edge, Flags, FlagSegment, Picture, Servers } from "./wire" */

const KEPT = 120; // answers kept, for going back and forth
const PAUSE = 900; // milliseconds between two pictures while a run streams: drawing must not slow it
const HIDDEN = 200; // pixels: a narrower box was not shown yet when its picture was laid out
const COMPILING = "First start: the engine is being compiled. The last picture is shown until the next one is ready.";
const MOVED = 24; // pixels by which a box may change before text that fills its width is laid out anew

/** How pictures are looked at, the same for all of them; kept in the browser. */
const USUAL = { follow: true, chains: null, size: 0, level: "states", tokens: true, stack: true };
const chosen = { ...USUAL, ...saved.get("picture", {}) };
export const pictureLooks = {
  get: () => chosen,
  set(changes) {
    Object.assign(chosen, changes);
    saved.set("picture", chosen);
    emit("looks", chosen);
  },
};

const answers = new Map();
/** For each tab and grammar the size of the box when it was first drawn. */
const layouts = new Map();
/** An answer from the server, or the one it gave before. @param {import("./ask.js").Ask} ask */
async function remembered(ask, server, question, asked) {
  const key = JSON.stringify([question, asked, state.model]),
    kept = answers.get(key);
  answers.delete(key);
  const answer = (await kept) ?? ask(server[question], asked);
  const usable = Promise.resolve(answer).then(
    (picture) => (picture.fault ? null : picture),
    () => null,
  );
  answers.set(key, usable);
  if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  const { fault, ...picture } = await answer;
  return fault ? { ok: false, why: fault } : picture;
}

/** The number of tokens before a step, or with it. */
function countBefore(step, atEnd) {
  const at = state.steps.indexOf(step);
  return at < 0 ? state.steps.length : at + (atEnd ? 1 : 0);
}
/** The bytes read before a step, or with it, as hexadecimal digits. */
function bytesBefore(step, atEnd = false) {
  if (!step) return "";
  if (step.before !== undefined) return step.before; // of a token or test that is explained
  return state.steps
    .slice(0, countBefore(step, atEnd))
    .map((each) => readOf(each) ?? "")
    .join("");
}
/** The run's own mask there, where it may allow fewer tokens than the grammar; a text that is tested has none. */
const maskBefore = (step, atEnd) =>
  step && step.before === undefined ? (cards.run?.masked(countBefore(step, atEnd)) ?? {}) : {};

const QUESTIONS = { railroad: "draw_railroad", tree: "draw_parse_tree" };

/** ``box`` becomes the picture. ``picked(state)``, ``edge(record)``, ``flag(segment)`` report clicks,
      ``shown(answer)`` a picture that is there, ``flagged(answer)`` the tokens drawn over it, ``lost(state)`` that the
      run has left it and is not followed, ``beyond`` a zoom (``camera.js``).
    @param {HTMLElement} box
    @param {Pick<Servers["picture"], "draw_machine" | "draw_flags" | "draw_railroad" | "draw_parse_tree">} server
    @param {{ picked?: (state: string | null) => void, edge?: (edge: Edge, index: number) => void,
      flag?: (segment: FlagSegment) => void, lost?: (state: string) => void,
      shown?: (answer: Answer<Picture>, sent: any) => void, flagged?: (answer: Answer<Flags>) => void,
      beyond?: (by: number, under: Element) => boolean }} [doors] */
export function createMachine(
  box,
  server,
  {
    picked = () => {},
    edge = () => {},
    flag = () => {},
    shown = () => {},
    flagged = () => {},
    lost = () => {},
    beyond = () => false,
  } = {},
) {
  const busy = el("span", { class: "howmuch", role: "status" }),
    say = el("div", { class: "say", hidden: true }, el("div"));
  const bones = el("div", { class: "bones", "aria-hidden": "true" }, ...[0, 1, 2, 3, 4].map(() => el("i")));
  box.prepend(el("div", { class: "canvas" }), bones, busy, say);
  const graph = createGraph(box, picked, {
    edge: (index) => edge(record?.edges[index], index),
    flag: (segment) => flag(segment),
    machine: () => tab,
    camera: { beyond },
  });
  let record = /** @type {any} */ (null),
    known = /** @type {any} */ (null),
    tab = "",
    loading = /** @type {string | null} */ (null), // the state around which a picture is requested
    where = "",
    sent = /** @type {any} */ (null),
    over = /** @type {any} */ (null), // the request for the flags that are drawn or awaited
    current = /** @type {[any, boolean]} */ ([null, false]),
    last = 0,
    soon = 0,
    kernels = ""; // the message while the engine is being compiled, else empty

  const blank = (text, waiting) => {
    say.hidden = !text;
    say.firstElementChild.textContent = text || "";
    bones.hidden = !waiting;
  };
  blank("", true);
  /** Say that an answer is awaited; the old picture stays, and is not dimmed if that can take a minute. */
  function wait() {
    box.classList.add("stale");
    box.classList.toggle("compiling", Boolean(kernels));
    if (record) busy.textContent = kernels ? COMPILING : "drawing…";
    else blank(kernels, true);
  }
  on("kernels", (words) => {
    if (words === kernels) return;
    kernels = words;
    if (busy.textContent || !bones.hidden) wait();
  });

  /** The states of chains that the reader unfolded in this picture. */
  const unfolded = () => (unfolding.key === pictureKey() ? unfolding.states : []);
  const askedUnfolded = () => (unfolded().length ? { unfolded_states: unfolded() } : {});
  const pictureKey = () => (state.compiled ? `${tab} ${grammarKey(state.compiled)}` : tab);
  let unfolding = { key: "", states: /** @type {string[]} */ ([]) };

  /** The box for which a machine of the grammar is laid out: that of its first picture. */
  function laidOutFor() {
    const key = pictureKey();
    const size = layouts.get(key) ?? { width: box.clientWidth, height: box.clientHeight };
    if (size.width >= HIDDEN) layouts.set(key, size);
    if (layouts.size > KEPT) layouts.delete(layouts.keys().next().value);
    return size;
  }
  /** The request for a picture that opens at a state.
      @returns {Record<string, any>} */
  function asked(centre) {
    const { example } = state.compiled;
    const { chains, size, level } = chosen;
    /** @type {Record<string, any>} */
    const more =
      tab === "railroad"
        ? { width: box.clientWidth }
        : tab === "tree"
          ? { width: box.clientWidth, height: box.clientHeight, ...treeRequest(...current) }
          : {
              ...laidOutFor(),
              chains,
              ...askedUnfolded(),
              ...(tab === "stack" || tab === "rules" ? { level } : tab === "characters" ? { size } : {}),
            };
    return { ...grammarOf(state.compiled), example, tab, centre: centre || "", ...more };
  }
  /** The request for the tokens that may follow at a step, or after its token. */
  function askedFlags(step, atEnd) {
    const { example, tabs } = state.compiled;
    return {
      ...grammarOf(state.compiled),
      example,
      tab,
      chains: chosen.chains,
      ...askedUnfolded(),
      centre: passedBy(known, step, atEnd).standing[0] || "",
      // a machine with a stack is where its text has led it; one without is in its state
      ...(tabs.characters ? { so_far: bytesBefore(step, atEnd) } : {}),
      ...maskBefore(step, atEnd),
    };
  }

  let slow = 0;
  const drawing = createLatest({
      busy: (waiting) => {
        clearTimeout(slow);
        if (waiting) slow = setTimeout(wait, 250);
        else loading = null;
      },
      subject: () => grammarKey(state),
    }),
    // asked while the grammar is typed, an answer may arrive when it is known that it cannot be read
    flagging = createLatest({ subject: () => `${grammarKey(state)} ${state.compiled?.ok}` }),
    flaggingAhead = createLatest();
  /** Draw, around a state where one is named; the old picture stays until the new one is there. */
  const load = (centre) =>
    drawing.run(async (ask, wait) => {
      loading = centre || "";
      const asking = asked(centre);
      take(await wait(remembered(ask, server, QUESTIONS[tab] ?? "draw_machine", asking)), asking, centre);
    });
  function take(answer, asking, centre) {
    loading = null;
    sent = asking;
    box.classList.remove("stale");
    record = answer.ok ? answer : null;
    known = record ?? known;
    where = centre || "";
    busy.textContent = "";
    blank(answer.ok ? "" : answer.why, false);
    over = null;
    graph.show(record, where);
    shown(answer, asking);
    go(...current);
  }

  /** Whether a request has to wait while a run streams; it is made again after the pause. */
  function pauses(again, pause = PAUSE) {
    clearTimeout(soon);
    const wait = state.running ? last + pause - performance.now() : 0;
    if (wait > 0) soon = setTimeout(() => again(), wait);
    else last = performance.now();
    return wait > 0;
  }
  /** Draw the tokens that may follow where the run is; ``anew`` also those that are drawn already. */
  function flags(anew = false) {
    if (tab !== "together" || !record || !chosen.tokens) {
      flagging.drop();
      over = null;
      graph.flags(null);
      return;
    }
    if (loading !== null) return;
    const asking = askedFlags(...current);
    if (!anew && over && JSON.stringify(over) === JSON.stringify(asking)) return;
    if (pauses(flags)) {
      graph.flags(null); // they would be those of an earlier state
      over = null;
      return;
    }
    over = asking;
    flagging.run(async (ask, wait) => {
      const answer = await wait(remembered(ask, server, "draw_flags", asking));
      if (!box.clientWidth) {
        over = null; // behind another view nothing has a size: they are drawn once it is shown
        return;
      }
      graph.flags(answer.ok ? answer : null);
      light();
      flagged(answer);
      const next = state.selected >= 0 && state.steps[state.selected + 1];
      if (next) flaggingAhead.run((ask) => remembered(ask, server, "draw_flags", askedFlags(next, false)));
    });
  }

  /** Light where the run is, and come along where that is wanted. */
  function go(step, atEnd = false) {
    current = [step, atEnd];
    if (tab === "tree") {
      grow();
      return;
    }
    if (!known) return;
    const { standing, shows } = light();
    const [here] = standing;
    flags();
    if (!here || loading !== null) return;
    if (shows && chosen.follow) graph.follow(here, !state.running); // sixty repaints a move would slow a run
    if (record && (shows || !record.partial)) return;
    // the same request gets the same answer: to repeat it would not end
    if (where !== here && chosen.follow) {
      if (!pauses(() => go(...current))) load(here);
    } else if (record) lost(here);
  }
  /** Light what the current token passes. */
  function light() {
    const [step, atEnd] = current;
    const passed = passedBy(known, step, atEnd);
    const shows = record && graph.light(passed, { fails: Boolean(step?.reason), atEnd, step });
    return { standing: passed.standing, shows };
  }
  /** Request the tree of the text up to the current token. */
  function grow() {
    if (loading !== null || !chosen.follow || !sent) return;
    const { so_far, current: at } = treeRequest(current[0], current[1]);
    if (sent.tab === "tree" && sent.so_far === so_far && sent.current === at) return;
    if (!pauses(grow, PAUSE / 3)) load("");
  }
  const resized = debounce(220, () => {
    if (box.clientWidth && !over) flags();
    if (!record || !sent?.width || !state.compiled?.ok || !box.clientWidth) return;
    if (!(tab in QUESTIONS) && sent.width >= HIDDEN) return; // a machine keeps its layout
    if (Math.abs(sent.width - box.clientWidth) > MOVED || Math.abs(sent.height - box.clientHeight) > MOVED) load(where);
  });
  new ResizeObserver(() => resized()).observe(box);

  return {
    graph,
    load,
    go,
    /** Where the run will be in the next picture, or null where the grammar is no longer the run's. */
    expect(step, atEnd) {
      current = [step, atEnd];
    },
    get record() {
      return record;
    },
    get tab() {
      return tab;
    },
    /** What the last picture was requested with. */
    get sent() {
      return sent;
    },
    /** What its flags were requested with. */
    get over() {
      return over;
    },
    flags,
    /** Draw the states of a chain apart, in its place; an empty list folds all chains again.
        @param {string[]} states */
    unfold(states) {
      unfolding = { key: pictureKey(), states: states.length ? [...unfolded(), ...states] : [] };
      load(where);
    },
    get unfolded() {
      return unfolded().length > 0;
    },
    /** Show a machine of the compiled grammar, around the run's state if it is followed. */
    open(name, centre = "") {
      if (name !== tab) {
        record = known = over = null;
        graph.show(null);
        blank(kernels, true);
        busy.textContent = "";
      }
      tab = name;
      const standing = !centre && chosen.follow && record ? passedBy(record, ...current).standing[0] : "";
      return load(centre || standing);
    },
    /** Ask for no picture any more. */
    drop: drawing.drop,
    say(text, waiting) {
      drawing.drop();
      flagging.drop();
      record = known = over = null;
      graph.show(null);
      busy.textContent = "";
      blank(text, waiting);
    },
    /** Dim the picture of an earlier grammar; ``awaited`` if the server reads the new one. */
    stale(on, awaited = false) {
      box.classList.toggle("stale", on);
      if (awaited && kernels) wait();
      else if (on) box.classList.remove("compiling");
    },
  };
}
