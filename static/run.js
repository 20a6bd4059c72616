/* The run card: runs, steps and forks; which branch is shown and which of its tokens is selected. */

import { createAlone } from "./alone.js";
import { askServer, createLatest } from "./ask.js";
import { createBranches, createQuestions } from "./branches.js";
import { createCallout } from "./callout.js";
import { createChart } from "./chart.js";
import { createToolbar } from "./dom.js";
import { createFold } from "./fold.js";
import { createInspector } from "./inspector.js";
import { notations } from "./notations.js";
import { bindRunKeys, createAnnouncer, createRunPanel, createRunViews, createWalk } from "./panel.js";
import { createReading } from "./reading.js";
import { IDLE, isIdle, selectedIn, transition } from "./run-state.js";
import { cards, emit, grammarKey, grammarOf, on, state } from "./state.js";
import { createStream } from "./stream.js";
import { createRunBar, createStrip } from "./strip.js";
import { several } from "./tokens.js";

/** @import { Context } from "./wire" */

/** A replay gives its own inspector and keys.
    @param {Context<"run">} context */
export function mountRun(
  { element, trigger, props, watch, server },
  { makeInspector = createInspector, bindKeys = bindRunKeys } = {},
) {
  const WAITING = "waiting…",
    MOST_LOSSES = 2; // how often a run is continued by itself
  const find = (selector) => element.querySelector(selector);
  const wait = find(".wait"),
    blank = find(".blank"),
    body = find(".body"),
    outdated = find(".outdated"),
    box = find(".strip");
  const panel = createRunPanel(find, server, () => busy()),
    { buttons } = panel,
    questions = createQuestions(server, panel.settings),
    aloud = createAnnouncer(find(".aloud"));
  /** @type {import("./run-state.js").RunState} */
  let phase = IDLE;
  const taking = createLatest({
      busy: (waiting) => {
        move({ type: waiting ? "take" : "taken" });
        busy();
      },
      subject: () => now(),
    }),
    looking = createLatest({ busy: (waiting) => inspector.wait(waiting || state.running), subject: () => now() }),
    recording = createLatest({ subject: () => state.example });
  let due = 0, // when a run lights the pictures again
    losses = 0; // servers that ended while they computed the run
  let firstRun = /** @type {string | null} */ (null), // the text that runs when it is compiled
    runNext = false, // whether the next text that is compiled runs
    restores = false, // or shows its run again
    compared = /** @type {any[]} */ ([]); // the tokens before the grammar was broken

  /** @param {import("./run-state.js").RunEvent} event */
  function move(event) {
    phase = transition(phase, event);
    state.running = phase.kind === "running";
    state.selected = selectedIn(phase);
  }
  const atNext = () => phase.cursor.kind === "next";

  const select = (index, focus = false) => {
    walk.halt();
    go(index, focus);
  };
  const strip = createStrip(find(".tokens"), { select, key: keys });
  const chart = createChart(find(".chartbox"), { select, key: keys });
  const inspector = makeInspector(find(".insp"), {
    // at the time of a click the branch may be gone, since another example was opened
    take: (...asked) => now() && take(...asked),
    rewind: (...asked) => now() && rewind(...asked),
    again: (...asked) => now() && again(...asked),
    explain: (ask, index, tokens) => questions.explain(ask, now(), index, tokens),
    find: (ask, index, query) => questions.search(ask, now(), index, query),
    why:
      server.why === undefined // in a replay
        ? null
        : (ask, index, candidate) => (now() ? questions.why(ask, now(), index, candidate) : null),
    unlit: () => emit("why", null),
  });
  const branches = createBranches(find(".branches"), {
      open: (branch) => {
        if (!state.running) open(branch);
      },
      begin: byHand,
      read: server.read_text === undefined ? null : () => reading.open(), // a replay has no server to ask
    }),
    { isOpen } = branches;
  const walk = createWalk(find(".walk"), {
    count: () => state.steps.length,
    at: () => (atNext() ? state.steps.length : state.selected),
    go: (index) => go(index, false),
  });
  const views = createRunViews(find(".key"), { chart: chart.by, shade: strip.by, steps: () => state.steps });
  panel.onTraps(strip.traps);
  createCallout(
    find,
    server.why === undefined ? null : async (ask, index, candidate) => questions.reason(ask, now(), index, candidate),
  );
  const showAlone = createAlone(find);
  createToolbar(find(".bar"), "Run", ".bar > button, .walk > button, .branches button");
  createFold(find(".optionsfold"), find(".options"), "options");
  createFold(find(".chartfold"), find("#wb-charts"), "charts");
  createToolbar(find(".said"), "The text of the run", ".copytext, .chartfold");
  createRunBar(find, run);
  const incoming = createStream(props, watch, {
    take: record,
    arrived: drawn,
    missed: (ask, from) => ask(server.missed_lines, from),
    over: "run over",
    dropped,
  });

  // -- runs, steps, forks ------------------------------------------------------------------------
  const now = () => branches.now();
  const here = () => {
    const { prompt, system, model } = state,
      { constraint, lookahead, small_tokens, monitor, draft, reasoning } = panel.settings();
    const way = { constraint, lookahead, small_tokens, monitor, draft, reasoning };
    return { ...grammarOf(state), prompt, system, model, ...way };
  };

  /** Let the model continue a branch, whose run ``lost`` this number of servers. */
  function play(branch, lost = 0) {
    const settings = panel.settings(),
      { finish, max_tokens } = settings,
      room = max_tokens - branch.steps.length;
    if (room < 1) {
      fail(
        `the text already has ${several(branch.steps.length, "token")}`,
        "raise 'at most' to continue",
        "Nothing to write: ",
      );
      return;
    }
    taking.drop();
    looking.drop();
    losses = lost;
    branch.outcome = branch.next = null;
    branch.settings = settings;
    move({ type: "play", before: branch.steps.length, time: performance.now() });
    strip.next(false);
    inspector.wait(true);
    panel.reserve(box, true);
    busy();
    tell(WAITING);
    drawn();
    // the budget of a text that must finish is that of the whole text
    const most = finish ? max_tokens : room;
    trigger("run", { ...questions.about(branch), max_tokens: most, run: incoming.begin() });
  }
  function run() {
    if (state.running) return;
    if (state.tooLong) {
      fail(state.tooLong, "", "Nothing was written: ");
      return;
    }
    open(branches.add({ how: "run", ...here() }), false);
    play(now());
  }
  function byHand() {
    if (state.running || !state.compiled?.ok) return;
    open(branches.add({ how: "hand", ...here() }));
  }

  const reading = createReading(find, read);
  /** A given text as a branch: its tokens before and after the mask, the first refused one selected. */
  function read(text) {
    if (!isIdle(phase) || !state.compiled?.ok) return;
    const asked = here();
    tell("reading…");
    taking.run(async (ask) => {
      const answer = await questions.read(ask, asked, text);
      move({ type: "taken" });
      tell("");
      if (!answer.ok) {
        fail(answer.why || answer.fault, "", "The text was not read: ");
        return;
      }
      const { steps, end: outcome, model: served } = answer;
      open(branches.add({ how: "read", ...asked, steps, outcome, served, settings: panel.settings() }));
      const refused = steps.findIndex((each) => each.read === "refused");
      if (refused >= 0) go(refused, false);
    });
  }

  /** One token: the one with this id, or the model's own choice for null. */
  const one = (branch, token, byHandTaken, then = () => {}) =>
    taking.run(async (ask) => {
      const answer = await questions.take(ask, branch, token);
      move({ type: "taken" });
      if (!answer.ok) {
        fail(answer.why || answer.fault, "", "That token could not be taken: ");
        return;
      }
      append(branch, answer, byHandTaken);
      then();
    });
  function append(branch, answer, byHandTaken) {
    branch.served = answer.model;
    branch.next = answer.next.k === "turn" ? answer.next : null;
    branch.outcome = answer.next.k === "stop" ? answer.next : null;
    if (answer.step) {
      strip.next(false);
      branch.steps.push({ ...answer.step, hand: byHandTaken });
      strip.add(branch.steps[branch.steps.length - 1], branch.steps.length - 1);
    }
    drawn();
    standing();
  }
  function step() {
    if (buttons.step.disabled) return;
    walk.halt();
    if (!isOpen(now())) open(branches.add({ how: "hand", ...here() }), false);
    one(now(), null, false);
  }

  function take(index, candidate) {
    if (!isIdle(phase)) return;
    const forks = index < now().steps.length;
    if (forks) open(branches.cut(index, "fork"), false);
    const focus = find(".insp").contains(document.activeElement);
    one(now(), candidate.id, true, () => {
      if (forks && isOpen(now())) play(now());
      else if (focus) inspector.enter();
    });
  }
  function rewind(index) {
    if (isIdle(phase)) open(branches.cut(index, "rewind"));
  }
  function again(index) {
    if (!isIdle(phase)) return;
    panel.newSeed();
    open(branches.cut(index, "rewind"), false);
    play(now());
    tell("with another seed: the same seed would give the same tokens");
  }

  // -- what comes back ---------------------------------------------------------------------------
  function record(message) {
    if (message.k === "status") tell(message.text);
    if (message.k === "start") {
      now().served = message.model;
      tell("");
      move({ type: "begin", time: performance.now() });
    }
    if (message.k === "step") {
      now().steps.push(message);
      strip.add(message, now().steps.length - 1);
    }
    if (message.k === "error") fail(message.message, message.hint, state.steps.length ? "" : "Nothing was written: ");
    if (message.k === "stop") finish(message);
  }
  function uncover(seen) {
    body.hidden = find(".walkbar").hidden = find(".insp").hidden = !seen;
    if (!seen) panel.fault("");
  }
  function drawn() {
    chart.show(state.steps);
    uncover(true);
    views.legend();
    showAlone(now());
    panel.numbers(
      now(),
      phase.kind === "running"
        ? (state.steps.length - phase.before) / Math.max(0.05, (performance.now() - phase.started) / 1000)
        : now().outcome?.rate,
    );
    walk.draw();
    if (!state.running) return;
    if (state.selected < 0) {
      requestAnimationFrame(() => {
        box.scrollTop = box.scrollHeight;
      });
      lit();
    }
    aloud.soon(`${state.steps.length} tokens so far`);
  }
  /** The pictures follow a run at most three times a second, and take at most a twentieth of the time. */
  function lit() {
    const now = performance.now();
    if (now < due) return;
    emit("step", null);
    due = now + Math.max(300, 20 * (performance.now() - now));
  }
  function finish(end) {
    const before = phase.kind === "running" ? phase.before : 0;
    move({ type: "finish" });
    incoming.end();
    panel.reserve(box, false);
    now().outcome = end;
    if (/^(wait|Comp)/.test(wait.textContent)) tell("");
    inspector.wait(false);
    drawn();
    aloud.say(`${state.steps.length} tokens, ${end.words}`);
    if (isOpen(now())) strip.next(true);
    if (state.selected < 0)
      go(before ? Math.min(now().how === "fork" ? now().at : before, state.steps.length - 1) : firstChange(), false);
    busy();
    emit("finished", end);
  }
  /** The first token that differs from the run before the grammar was broken; without one, the token worth a
      look. */
  function firstChange() {
    const index = compared.length ? state.steps.findIndex((step, i) => step.id !== compared[i]?.id) : -1;
    compared = [];
    return index >= 0 ? index : panel.worthALook(state.steps);
  }
  function stop(words) {
    if (!state.running) return;
    askServer(server.stop_run, { run: incoming.end() });
    finish({ k: "stop", reason: "stopped", words: words || "stopped by you", good: false });
  }
  /** The server ended during a run: another one, or the same one started again, continues the run. */
  function dropped(words, advice, begun) {
    if (!begun || losses === MOST_LOSSES || now().steps.length >= now().settings.max_tokens) {
      fail(words, advice);
      return;
    }
    play(now(), losses + 1);
    tell("the server ended; another one continues the run");
  }
  function fail(message, hint, before) {
    panel.fault(message, hint, before);
    if (state.running) finish({ k: "stop", reason: "error", words: "ended by an error", good: false });
    else busy();
  }

  // -- what is shown -----------------------------------------------------------------------------
  /** Show a branch, from its first token to its last; then where it stands, unless a run is about to fill it. */
  function open(branch, look = true) {
    branches.show(branch);
    state.steps = branch.steps;
    state.ran = grammarKey(branch);
    move({ type: "select nothing" });
    panel.fault("");
    blank.hidden = true;
    tell("");
    strip.clear(0);
    for (const [index, each] of branch.steps.entries()) strip.add(each, index);
    chart.mark(-1);
    inspector.show(null);
    drawn();
    if (!look) return;
    if (isOpen(branch)) standing();
    else go(panel.worthALook(state.steps), false);
    busy();
  }

  /** Where a run stands: the next token's chances, or the end. */
  function standing() {
    if (isOpen(now())) {
      strip.next(true);
      go(state.steps.length, false);
      return;
    }
    go(state.steps.length - 1, false);
    aloud.say(`${state.steps.length} tokens, ${now().outcome.words}`);
    busy();
  }

  /** Select a token, or past the last one the token that is not taken yet. */
  function go(index, focus) {
    const branch = now();
    const next = Boolean(branch) && index >= state.steps.length && isOpen(branch) && !state.running;
    looking.drop();
    if (!next && !state.steps[index]) {
      if (atNext()) move({ type: "select nothing" });
      return;
    }
    move(next ? { type: "select next" } : { type: "select", index });
    strip.mark(index, focus);
    chart.mark(index);
    walk.draw();
    busy();
    if (next) {
      look(branch);
      return;
    }
    state.turn = null;
    inspector.show(state.steps[index], index);
    lights(state.steps[index]);
  }
  /** The next token's chances: asked for once, then kept with the branch. */
  function look(branch) {
    const index = branch.steps.length;
    state.turn = branch.next;
    lights(null, branch.next);
    if (branch.next) {
      chances(branch);
      return;
    }
    if (!index) tell("asking…");
    looking.run(async (ask) => {
      const answer = await questions.turn(ask, branch);
      if (!index) tell("");
      if (!answer.ok) {
        fail(answer.why || answer.fault, "", "The next token is not known: ");
        return;
      }
      if (answer.next.k === "stop") {
        branch.outcome = answer.next;
        strip.next(false);
        drawn();
        if (index) go(index - 1, false);
        return;
      }
      branch.next = answer.next;
      chances(branch);
    });
  }
  function chances(branch) {
    state.turn = branch.next;
    inspector.show(branch.next, branch.steps.length);
    lights(null, branch.next);
    busy();
  }
  /** Tell the picture and the editor. */
  function lights(step, at = step) {
    const here = state.ran === grammarKey(state) ? at : null;
    emit("step", step);
    emit("live rules", here?.rules ?? []);
    emit("read in", here?.read_in ?? []);
  }

  function busy() {
    panel.busy({
      running: state.running,
      taking: phase.kind === "taking",
      open: isOpen(now()),
      ready: Boolean(state.compiled?.ok) && !state.pending,
    });
    const isOld = state.steps.length > 0 && state.ran !== grammarKey(state);
    outdated.hidden = !isOld;
    for (const part of [body, find(".insp")]) part.classList.toggle("old", isOld);
    branches.lock(!isIdle(phase));
    reading.lock(!isIdle(phase) || !state.compiled?.ok);
  }
  const tell = (text) => {
    wait.textContent = text || "";
  };

  // -- keys and events ---------------------------------------------------------------------------
  function keys(event, index) {
    const act = {
      ArrowDown: inspector.enter,
      Enter: inspector.enter,
      " ": walk.toggle,
      r: () => {
        if (index < state.steps.length) rewind(index);
      },
      "/": inspector.search,
    }[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  }
  const clicks = {
    go: run,
    step,
    goon: () => {
      if (!state.running && isOpen(now())) play(now());
    },
    halt: () => stop(),
  };
  for (const [name, act] of Object.entries(clicks)) buttons[name].addEventListener("click", () => act());
  find(".byhand").addEventListener("click", byHand);
  outdated.querySelector("button").addEventListener("click", () => buttons.go.click());
  find(".readlink").hidden = server.read_text === undefined;
  find(".readlink button").addEventListener("click", () => reading.open());
  on("read text", (text) => {
    reading.open(text);
    read(text);
  });
  bindKeys(find, {
    run() {
      if (!buttons.go.disabled) run();
      else if (state.pending) {
        runNext = true;
        emit("compile now");
      }
    },
    stop,
    step,
    play: walk.toggle,
  });
  let compiling = "";
  on("kernels", (words) => {
    if (words ? !state.steps.length : wait.textContent === compiling) tell(words || (state.running ? WAITING : ""));
    compiling = words;
  });
  on("walk", walk.by);
  on("rewrite", (wanted) => {
    runNext = Boolean(wanted.run);
    restores = Boolean(wanted.restore);
    compared = runNext ? state.steps : [];
  });
  on("typed", () => {
    busy();
    emit("live rules", []);
    emit("read in", []);
  });
  on("compiled", () => {
    busy();
    branches.draw();
    if (now()) panel.alarms(now());
    emit("step", state.steps[state.selected] || null);
  });
  on("example", (example) => {
    taking.drop();
    looking.drop();
    if (state.running) stop("stopped by another example");
    runNext = restores = false;
    compared = [];
    walk.halt();
    branches.clear();
    Object.assign(state, { steps: [], turn: null });
    move({ type: "select nothing" });
    strip.clear(0);
    uncover(false);
    blank.hidden = false;
    tell("");
    panel.apply({ max_tokens: example.max_tokens, finish: notations[example.notation].finish, ...example.settings });
    recording.run(async (ask) => {
      const lines = example.name ? await ask(server.recorded_run, { example: example.name }) : "";
      if (state.running || now()) return;
      if (typeof lines === "string" && lines) recorded(lines);
      else if (example.first && state.compiled?.ok && state.compiled.text === state.text) run();
      else if (example.first) firstRun = state.text;
    });
  });
  on("switch", (notation) => panel.mustFinish(notations[notation].finish));
  /** A run that was made elsewhere, as a branch. */
  const adopt = (made) => {
    panel.apply({ hole: state.hole, ...made.settings });
    open(branches.add({ ...here(), ...made }));
  };
  function recorded(lines) {
    adopt({ how: "recorded", ...branches.read(lines) });
    tell("recorded run");
  }
  on("adopt", (made) => {
    stop("stopped by a run from elsewhere");
    adopt(made);
  });
  // what the page is opened with runs by itself, so that a visitor sees a finished run first
  on("compiled", (compiled) => {
    const wanted = runNext || restores || firstRun === compiled.text;
    firstRun = null;
    const kept = restores && branches.all().find((branch) => grammarKey(branch) === grammarKey(compiled));
    runNext = restores = false;
    if (kept) {
      stop("stopped by the run of the example");
      open(kept);
      return;
    }
    if (!wanted || !compiled.ok) return;
    if (state.running) stop("stopped by a newer run");
    run();
  });

  /** For exports and drafts: the branch that is shown, as the lines of a recorded run, and how runs are asked for. */
  cards.run = {
    settings: panel.settings,
    apply: panel.apply,
    masked: (count) => (now() ? questions.masked(now(), count) : {}),
    records: () => (now() ? branches.records(now(), questions.about(now())) : []),
  };
  uncover(false);
  busy();
}
