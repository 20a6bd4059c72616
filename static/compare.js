/* The view that compares methods: requests a comparison and shows its records as they arrive. */

import { askServer, createLatest } from "./ask.js";
import { createAuditCard } from "./compare-audit.js";
import { createCompareChoice } from "./compare-choice.js";
import { comparisonFiles, createExactCard } from "./compare-exact.js";
import { createCompareTable } from "./compare-table.js";
import { el, radios } from "./dom.js";
import { late } from "./late.js";
import { shades } from "./measures.js";
import { colour } from "./notations.js";
import { createAnnouncer } from "./panel.js";
import { stagesInWords, stagesOf } from "./stages.js";
import { cards, chatOf, emit, grammarKey, grammarOf, OWN_TITLE, on, onBegun, state, systemOf } from "./state.js";
import { createStream } from "./stream.js";
import { formatNumber, glyphs } from "./tokens.js";

/** @import { Context } from "./wire" */

/** @param {Context<"compare">} context */
export function mountCompare({ element, trigger, props, watch, server }) {
  const find = (selector) => element.querySelector(selector);
  const buttons = { go: find(".go"), halt: find(".halt"), fold: find("button.fold") },
    wait = find(".wait"),
    meter = find(".meter"),
    bar = find(".meter i"),
    fault = find(".runerr");
  const scroll = find(".scroll"),
    blank = find(".results .blank"),
    key = find(".key"),
    given = find(".given pre"),
    aloud = createAnnouncer(find(".aloud"));
  const OPENING = "asking the model about every token…";
  let now = /** @type {any} */ (null),
    dirty = new Set(),
    choice = /** @type {any} */ (null),
    wrong = "",
    standing = "",
    samples = /** @type {any[]} */ ([]); // small languages, whose exact distributions can be computed

  choice = createCompareChoice(find, {
    changed: (plan, fault) => {
      find(".plan").textContent = plan;
      wrong = fault;
      busy();
    },
  });
  const table = createCompareTable(find("table"), { open, about: choice.about });
  const exact = createExactCard(find(".exact"), {
    distribution: (ask, sent) => ask(server.distribution, sent),
    about: choice.about,
    small: () => sample(samples[0]),
  });
  const audit = createAuditCard(find(".audit"), (ask) => ask(server.audit_engines, grammarOf(state)));
  const incoming = createStream(props, watch, {
    take: record,
    arrived: () => {
      if (now) drawn(dirty);
    },
    missed: (ask, from) => ask(server.missed_lines, from),
    over: "compare over",
    dropped: fail,
  });
  find(".legend").append(shades.legend("surprisal", []));

  const here = () => ({ ...grammarOf(state), model: state.model, chat: chatOf(state) });
  const ready = () => Boolean(state.compiled?.ok) && !state.pending && Boolean(choice?.loaded());
  /** Why nothing can be compared; nothing where it can, or where that is not known yet. */
  function hindrance() {
    if (state.pending || !state.compiled || !choice?.loaded()) return "";
    if (!state.compiled.ok)
      return state.compiled.empty
        ? "There is no grammar yet."
        : "The grammar cannot be read: correct it in the workbench first.";
    return wrong;
  }

  // -- a comparison ---------------------------------------------------------------------------------
  function compare() {
    const { fault: amiss, runs, ...asked } = choice.asked();
    if (!now?.running && !amiss && !choice.fieldFault() && ready()) begin({ ...here(), ...asked });
  }
  function begin(about) {
    prepare(about);
    tell("waiting for the model…");
    trigger("run", { ...about, run: incoming.begin() });
  }
  /** A comparison without any record yet, and its empty table. */
  function prepare(about) {
    const { methods, prompts } = about,
      seeds = Array.from({ length: about.seeds }, (_, i) => about.seed + i);
    const runs = prompts.flatMap((prompt) =>
      seeds.flatMap((seed) => methods.map((method) => ({ method, prompt, seed, steps: [], end: null, why: "" }))),
    );
    const against = methods.find((name) => name === (now?.against ?? "automaton")) ?? methods[0];
    now = {
      about,
      methods,
      prompts,
      seeds,
      runs,
      against,
      running: true,
      writing: null,
      aligned: now?.aligned ?? true,
      shown: { prompt: prompts[0], seed: seeds[0] },
      started: performance.now(),
    };
    exact.show(null);
    opening.drop();
    say("");
    blank.hidden = true;
    scroll.hidden = key.hidden = false;
    judged([]);
    fold(true);
    controls();
    table.begin(now);
    element.classList.add("running");
    drawn(methods);
  }

  function record(message) {
    const run = now.runs[message.r];
    const act = {
      status: () => tell(message.text),
      start: () => {
        now.model = message.model;
        tell("");
        now.started = performance.now();
      },
      began: () => {
        run.steps = [];
        now.writing = run;
      },
      step: () => {
        const { k, r, ...step } = message;
        run.steps.push(step);
      },
      ended: () => {
        for (const [index, s] of message.late) run.steps[index].s = s;
        const { k, r, late, ...end } = message;
        run.end = end;
        now.writing = null;
      },
      failed: () => {
        run.why = message.why;
        now.writing = null;
      },
      error: () => fail(message.message, message.hint),
      stop: () => {
        finish("");
        judged(message.verdict ?? []);
      },
    }[message.k];
    act?.();
    if (run) dirty.add(run.method);
  }
  /** Some methods as they stand now, and how far all is. */
  function drawn(methods) {
    // when the text that others are set against has grown, who leaves it is known anew
    for (const name of dirty.has(now.against) ? now.methods : methods) table.show(name);
    dirty = new Set();
    progress();
    busy();
  }
  function progress() {
    const total = now.runs.length,
      done = now.runs.filter((run) => run.end || run.why).length;
    meter.setAttribute("aria-valuemax", String(total));
    meter.setAttribute("aria-valuenow", String(done));
    bar.style.width = `${(100 * done) / total}%`;
    if (!now.running || !now.model) return;
    const tokens = now.runs.reduce((sum, run) => sum + run.steps.length, 0),
      next = now.runs[done];
    tell(
      `run ${Math.min(total, done + 1)} of ` +
        `${total}${next ? ` · ${next.method}${now.writing ? "" : " is being prepared"}` : ""} · ` +
        `${formatNumber(tokens)} tokens`,
    );
    aloud.soon(`run ${Math.min(total, done + 1)} of ${total}, ${tokens} tokens`);
  }
  function finish(words) {
    now.running = false;
    now.writing = null;
    incoming.end();
    element.classList.remove("running");
    const tokens = now.runs.reduce((sum, run) => sum + run.steps.length, 0),
      done = now.runs.filter((run) => run.end).length;
    tell(
      `${words ? `${words} · ` : ""}${done} of ${now.runs.length} runs · ` +
        `${formatNumber(tokens)} tokens in ${((performance.now() - now.started) / 1000).toFixed(1)} s`,
    );
    aloud.say(standing);
    drawn(now.methods);
    table.group();
    table.arrange();
    if (now.runs.some((run) => run.end)) exact.show(now);
  }
  function stop(words = "stopped by you") {
    if (!now?.running) return;
    askServer(server.stop_run, { run: incoming.end() });
    finish(words);
  }
  function fail(message, hint) {
    if (now?.running) {
      finish("ended by an error");
      if (!now.runs.some((run) => run.steps.length || run.why)) empty(); // nothing to be seen
    }
    say(message, hint);
  }

  /** What the table shows, in two lines. */
  function judged(lines) {
    const box = find(".verdict");
    box.replaceChildren(...lines.map((line) => el("p", {}, line)));
    box.hidden = !lines.length;
    if (lines.length) aloud.say(`${standing}. ${lines.join(" ")}`);
  }

  // -- what is shown of it --------------------------------------------------------------------------
  const say = (message, hint, before = "Not compared: ") => {
    fault.hidden = !message;
    fault.replaceChildren(el("b", {}, before), (message || "") + (hint ? ` — ${hint}` : ""));
  };
  const tell = (text) => {
    standing = text;
    busy();
  };
  /** Which buttons can be pressed; next to them the progress, or why nothing can be compared. */
  function busy() {
    const running = Boolean(now?.running),
      hinders = running ? "" : hindrance();
    buttons.go.disabled = running || Boolean(wrong || choice?.fieldFault()) || !ready();
    buttons.halt.disabled = !running;
    wait.textContent = hinders || standing;
    wait.classList.toggle("warn", Boolean(hinders));
  }
  function fold(closed) {
    element.querySelector(".setup").classList.toggle("closed", closed);
    buttons.fold.setAttribute("aria-expanded", String(!closed));
  }
  buttons.fold.addEventListener("click", () => fold(buttons.fold.getAttribute("aria-expanded") === "true"));

  /** Which of the runs' texts are shown, against which, and how. */
  function controls() {
    const pick = (label, options, chosen, act) =>
      el(
        "label",
        { class: "knob" },
        el("span", {}, label),
        el(
          "span",
          { class: "pickwrap" },
          Object.assign(
            el(
              "select",
              {
                onchange: (event) => {
                  act(event.target.value);
                  table.showAll();
                },
              },
              ...options.map(([value, title]) => el("option", { value, selected: value === chosen }, title)),
            ),
          ),
        ),
      );
    const sides = el("div", { class: "seg small", role: "radiogroup", "aria-label": "Strips begin at" });
    radios(
      sides,
      "data-aligned",
      [
        ["true", "from the first difference"],
        ["false", "from the beginning"],
      ],
      (value) => {
        now.aligned = value === "true";
        table.showAll();
      },
    )(String(now.aligned));
    const drawn = stagesInWords(now.about);
    const short = (prompt, i) => `${i + 1}: ${glyphs({ text: prompt }).slice(0, 30) || "no prompt"}`;
    find(".shownof").replaceChildren(
      ...[
        now.prompts.length > 1
          ? pick(
              "prompt",
              now.prompts.map((prompt, i) => [String(i), short(prompt, i)]),
              String(now.prompts.indexOf(now.shown.prompt)),
              (value) => {
                now.shown.prompt = now.prompts[Number(value)];
                if (!now.running) exact.show(now);
              },
            )
          : null,
        now.seeds.length > 1
          ? pick(
              "seed",
              now.seeds.map((seed) => [String(seed), String(seed)]),
              String(now.shown.seed),
              (value) => {
                now.shown.seed = Number(value);
              },
            )
          : null,
        pick(
          "against",
          now.methods.map((name) => [name, name]),
          now.against,
          (value) => {
            now.against = value;
          },
        ),
        sides,
        el("span", { class: "quiet drawn" }, drawn && `drawn with ${drawn}`),
      ].filter(Boolean),
    );
    find(".takes").replaceChildren(
      ...[
        ["CSV", () => comparisonFiles.csv(now), "A row a run"],
        ["NDJSON", () => comparisonFiles.ndjson(now), "Every run with its tokens"],
      ].map(([label, act, title]) => el("button", { type: "button", title, onclick: act }, label)),
    );
  }

  /** One run in the workbench: its tokens again, with all that is known of each. */
  function open(run) {
    if (!run?.end || now.running) return;
    const about = { ...now.about, prompt: run.prompt, seed: run.seed, method: run.method };
    opening.run(async (ask) => {
      const answer = await ask(server.compared_run, { ...about, prefix: run.steps.map((step) => step.id) });
      if (answer.ok) adopt(about, answer, run.end);
      else say(answer.why || answer.fault, "", "Not opened: ");
    });
  }
  let before = "";
  const opening = createLatest({
    busy: (waiting) => {
      if (!waiting) {
        tell(before);
        return;
      }
      if (standing !== OPENING) before = standing;
      tell(OPENING);
    },
    subject: () => now,
  });
  /** A run whose tokens the server has explained becomes a branch of the workbench. */
  function adopt(run, answer, end) {
    const system = systemOf(run.chat);
    if (grammarKey(run) !== grammarKey(state)) emit("open", { ...run, system, prompt: run.prompt, tests: [] });
    else emit("look", "workbench");
    const { temperature, max_tokens } = run,
      { constraint, finish, monitor } = answer,
      way = { constraint, lookahead: answer.lookahead ?? undefined, finish, monitor: monitor || undefined };
    const outcome = { k: "stop", reason: end.stop, words: end.words, good: end.valid };
    setTimeout(() =>
      emit("adopt", {
        how: "compared",
        method: run.method,
        steps: answer.steps,
        served: answer.model,
        prompt: run.prompt,
        system,
        settings: { temperature, max_tokens, seed: run.seed, ...stagesOf(run), ...way },
        ...way,
        outcome,
      }),
    );
  }

  // -- results files --------------------------------------------------------------------------------
  const stored = find(".stored"),
    chooser = find(".stored input");
  let card = /** @type {any} */ (null);
  /** Open files of results; without any, the file that the page is served with. */
  async function openResults(files) {
    try {
      card ??= (await late("compare-results.js")).createResultsCard(stored, {
        server,
        open: (grammar) => emit("open", { ...grammar, tests: [] }),
        run: storedRun,
      });
    } catch {
      find(".stored [role=status]").textContent = "the server did not answer; is it still running?";
      return;
    }
    card.open(files);
  }
  /** A run of a results file in the workbench; returns why it cannot be opened, or nothing. */
  function storedRun({ grammar, tokens, stop, valid, model, ...run }) {
    const about = { ...grammar, ...run, chat: null, max_tokens: Math.max(64, tokens.length), model: state.model };
    return opening.run(async (ask) => {
      const answer = await ask(server.compared_run, { ...about, prefix: tokens });
      if (answer.ok && answer.model !== model) return `the model that wrote it, ${model}, is not the chosen one`;
      if (!answer.ok) return answer.why || answer.fault;
      adopt(about, answer, { stop, valid, words: valid ? "accepted" : `ended: ${stop}` });
      return "";
    });
  }
  for (const button of element.querySelectorAll(".choosefile")) button.addEventListener("click", () => chooser.click());
  function choose(files) {
    if (!files?.length) return;
    openResults([...files].slice(0, 3));
    stored.scrollIntoView({ block: "start" });
  }
  chooser.addEventListener("change", () => {
    choose(chooser.files);
    chooser.value = ""; // the same file can be chosen again
  });
  if (state.results) {
    stored.parentElement?.prepend(stored);
    let waiting = true;
    on("view", (view) => {
      if (!waiting || view !== "compare") return;
      waiting = false;
      openResults(null);
    });
  }
  const dropped = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  element.addEventListener("dragover", (event) => {
    if (!dropped(event)) return;
    event.preventDefault();
    stored.classList.add("over");
  });
  element.addEventListener("dragleave", (event) => {
    if (!element.contains(/** @type {Node | null} */ (event.relatedTarget))) stored.classList.remove("over");
  });
  element.addEventListener("drop", (event) => {
    stored.classList.remove("over");
    if (!dropped(event)) return;
    event.preventDefault();
    choose(event.dataTransfer?.files);
  });

  let eager = false;
  /** One of the examples in this view, compared when it is compiled. */
  function sample(one) {
    const { prompts, whose, ...others } = choice.settings();
    eager = true;
    emit("open", { ...one, compare: others });
  }
  let recorded = ""; // the lines of the comparison that the view opens with
  const introducing = createLatest({ subject: () => now });
  /** The small languages to try; and where nothing was compared yet, the recorded comparison of one. */
  const introduce = () =>
    introducing.run(async (ask) => {
      if (!samples.length) {
        const answer = await ask(server.compare_opening, { model: state.model });
        if (answer.fault) return;
        ({ samples, recorded } = answer);
        const buttons = samples.map((one) => el("button", { type: "button", onclick: () => sample(one) }, one.title));
        find("p.samples").append(...buttons);
      }
      if (!now && !eager && recorded && !state.example?.compare) replay(recorded);
    });
  /** Show a recorded comparison, as if its records arrived now. */
  function replay(lines) {
    const [about, ...records] = lines
      .trim()
      .split("\n")
      .map((each) => JSON.parse(each));
    prepare(about);
    now.recorded = about.title;
    now.distribution = records.pop();
    for (const each of records) record(each);
    drawn(now.methods);
    tell("recorded with the embedded model");
    grammar();
  }

  /** As the view is before anything was compared. */
  function empty() {
    now = null;
    blank.hidden = false;
    scroll.hidden = key.hidden = true;
    judged([]);
    for (const row of [".shownof", ".takes"]) find(row).replaceChildren();
    fold(false);
    say("");
    tell("");
    bar.style.width = "0";
    exact.show(null);
    busy();
  }

  // -- the grammar, keys and events -----------------------------------------------------------------
  function grammar() {
    const own = state.example?.text?.trimEnd() !== state.text.trimEnd();
    find(".given .title").textContent = state.ownTitle || (!own && state.example?.title) || OWN_TITLE;
    given.replaceChildren(
      ...colour(state.text.trimEnd(), state.notation).map(([piece, name]) =>
        el("span", { class: name || null }, piece),
      ),
    );
    audit.changed(grammarKey(state));
    find(".old").hidden = !now || grammarKey(now.about) === grammarKey(state);
    find(".old").textContent = now?.recorded
      ? `recorded example “${now.recorded}”; press Compare to run your own grammar`
      : "of an earlier text of the grammar";
    busy();
  }
  find(".edit").addEventListener("click", () => {
    emit("look", "workbench");
    emit("focus editor");
  });
  buttons.go.addEventListener("click", compare);
  buttons.halt.addEventListener("click", () => stop());
  document.addEventListener("keydown", (event) => {
    if (state.view !== "compare" || document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      compare();
    }
    if (event.key === "Escape" && now?.running) stop();
  });
  on("typed", () => busy());
  on("compiled", () => {
    grammar();
    if (eager && ready()) {
      eager = false;
      compare();
    }
  });
  on("example", (example) => {
    if (now?.running) stop("stopped by another example");
    empty();
    if (example.compare) {
      choice.apply(example.compare);
      setTimeout(() => emit("look", "compare"));
    }
  });

  const listing = createLatest();
  const load = () =>
    listing.run(async (ask) => {
      const answer = await ask(server.contender_list, {});
      if (answer.fault) say(answer.fault);
      else {
        choice.load(answer);
        audit.offer(answer.engines);
      }
      busy();
    });
  const place = new URLSearchParams(location.search);
  on("view", (view) => {
    const asked = new URLSearchParams(location.search);
    if (view === "compare") {
      asked.set("compare", "");
      if (!choice.loaded()) load();
      introduce();
      grammar();
    } else asked.delete("compare");
    const rest = String(asked).replace(/compare=(&|$)/, "compare$1");
    history.replaceState(null, "", (rest ? `?${rest}` : location.pathname) + location.hash);
  });
  // what the address names is shown, and else the file that the page is served with
  const named = ["example", "learn", "exercise"].some((key) => place.has(key)) || /^#[gxc]=/.test(location.hash);
  if (place.has("compare") || (state.results && !named)) {
    if (place.get("compare")) choice.apply({ methods: String(place.get("compare")).split(",") });
    onBegun(() => emit("look", "compare"));
  }
  cards.compare = { settings: () => (state.view === "compare" ? choice.settings() : undefined) };
  busy();
}
