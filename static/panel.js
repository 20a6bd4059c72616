/* The controls of the run card: its settings, its numbers, its alarms, what the strip and the chart show, its keys, and
   the buttons that walk through a run. */

import { createLatest } from "./ask.js";
import { bound } from "./bound.js";
import { KINDS } from "./chart-kinds.js";
import { copyText, createButton, debounce, el, isDialogOpen, isPageKey, radios, svgEl, useUp } from "./dom.js";
import { createNumberFields, createTickedRow, TEMPERATURE } from "./fields.js";
import { loopAlarm, runTotals, shades } from "./measures.js";
import { createStages, drawStages, STAGE_FIELDS } from "./stages.js";
import { emit, grammarKey, on, state } from "./state.js";
import { saved } from "./storage.js";
import { glyphs, spelledText } from "./tokens.js";

/** @typedef {{
      fields: ReturnType<typeof createNumberFields>, mask: HTMLSelectElement, small: HTMLInputElement,
      finishes: HTMLInputElement, stats: HTMLElement, outcome: HTMLElement, alarms: HTMLElement,
      draft: ReturnType<typeof drafting>,
      free: ReturnType<typeof reasoning>, stages: ReturnType<typeof createStages>, hole: ReturnType<typeof filling>,
      watched: ReturnType<typeof monitors>,
      deep: HTMLElement, k: HTMLInputElement, chosen: () => void, buttons: Record<string, HTMLButtonElement>,
      starts: HTMLButtonElement[], blank: string,
      looked: number, box: HTMLElement, 
      doors: { go(index: number): void, traps?(traps: number[]): void,
      [name: string]: ((...details: never[]) => void) | undefined }, find: (selector: string) => HTMLElement,
    }} RunPanel */

/* Walking through a run: first, previous, play, next, last. */
const ICONS = {
  first: "M3 3v10M13 3 6 8l7 5z",
  previous: "M11 3 4 8l7 5z",
  play: "M5 3l8 5-8 5z",
  pause: "M5 3v10M11 3v10",
  next: "M5 3l7 5-7 5z",
  last: "M13 3v10M3 3l7 5-7 5z",
};

const CALLOUT = 56; // pixels of the callout under a token
const SLOWEST = 520;
const FASTEST = 140;
const WHOLE = 15000; // milliseconds a token, and for a whole run

function icon(name) {
  const path = svgEl("path", {
    d: ICONS[name],
    fill: name === "pause" ? "none" : "currentColor",
    stroke: "currentColor",
    "stroke-width": 1.8,
    "stroke-linejoin": "round",
  });
  return svgEl("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", width: 13, height: 13 }, path);
}

/** `doors.count()`, `doors.at()` (−1 for none) and `doors.go(index)`. */
export function createWalk(box, doors) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  let timer = 0;
  const make = (name, title, act) => createButton(icon(name), { class: "icon", "aria-label": title, title }, act);
  const buttons = {
    first: make("first", "First token", () => go(0)),
    previous: make("previous", "Previous token", () => go(Math.max(0, doors.at() - 1))),
    play: make("play", "Play the run (P)", () => toggle()),
    next: make("next", "Next token", () => go(doors.at() + 1)),
    last: make("last", "Last token", () => go(doors.count() - 1)),
  };
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Walk through the run");
  box.replaceChildren(...Object.values(buttons));

  function go(index) {
    halt();
    if (index >= 0 && index < doors.count()) doors.go(index);
  }
  function say(playing) {
    buttons.play.replaceChildren(icon(playing ? "pause" : "play"));
    buttons.play.setAttribute("aria-label", playing ? "Pause" : "Play the run (P)");
    buttons.play.setAttribute("aria-pressed", String(playing));
  }
  function halt() {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    say(false);
  }
  function turn() {
    const next = doors.at() + 1;
    if (next >= doors.count()) {
      halt();
      return;
    }
    doors.go(next);
    // with reduced motion the same walk, slowly
    timer = setTimeout(turn, reduced.matches ? 1200 : Math.max(FASTEST, Math.min(SLOWEST, WHOLE / doors.count())));
  }
  function toggle() {
    if (timer) {
      halt();
      return;
    }
    if (!doors.count()) return;
    say(true);
    if (doors.at() < 0 || doors.at() >= doors.count() - 1) doors.go(0);
    timer = setTimeout(turn, SLOWEST);
  }
  document.addEventListener("visibilitychange", halt);

  return {
    toggle,
    halt,
    /** Go on by a number of tokens, as far as there are any. */
    by: (count) => go(Math.max(0, Math.min(doors.count() - 1, doors.at() + count))),
    draw() {
      // at either end too they stay: a button that is focused must not vanish from under a finger
      for (const button of Object.values(buttons)) button.disabled = !doors.count();
    },
  };
}

/** The methods beside the exact mask and none; `told(method)` hears which of them is chosen, null for the usual two. */
function methods(mask, report) {
  const usual = [...mask.options].map((option) => option.value),
    others = () => state.methods.filter((each) => !usual.includes(each.name));
  const show = () => report(others().find((each) => each.name === mask.value) ?? null);
  on("ready", () =>
    mask.append(
      el(
        "optgroup",
        { label: "Other methods" },
        ...others().map((each) =>
          el("option", { value: each.name, title: `${each.title}. ${each.source}` }, each.name.replaceAll("_", " ")),
        ),
      ),
    ),
  );
  mask.addEventListener("change", show);
  return show;
}

/** The menu of draft models: the served models with the chosen model's tokens; hidden without any. A choice that the
    chosen model does not offer is kept, in case another model does. */
function drafting(find, server) {
  const box = find(".drafting"),
    menu = find("select.draft");
  const latest = createLatest();
  let wanted = "",
    asked = "";
  const show = () => {
    menu.value = [...menu.options].some((option) => option.value === wanted) ? wanted : "";
  };
  menu.addEventListener("change", () => {
    wanted = menu.value;
  });
  on("model", ({ name, models = [] }) => {
    const key = JSON.stringify([name, models.map((each) => each.name)]);
    if (key === asked || models.length < 2) return;
    asked = key;
    latest.run(async (ask) => {
      const answer = await ask(server.draft_models, {});
      const drafts = answer.ok ? answer.drafts : [];
      menu.replaceChildren(
        el("option", { value: "" }, "none"),
        ...drafts.map((each) => el("option", { value: each.name }, each.title)),
      );
      box.hidden = !drafts.length;
      show();
    });
  });
  return {
    chosen: () => menu.value,
    choose(name) {
      wanted = name;
      show();
    },
  };
}

/** The free part of a reasoning model: its markers and its budget; off until it is ticked. */
function reasoning(find, fields) {
  const tick = find("input.reasons"),
    box = find(".thinking"),
    [opening, closing] = ["opening", "closing"].map((name) => find(`.thinking input.${name}`));
  const show = createTickedRow(tick, box, fields);
  return {
    /** Null if it is off. */
    chosen: () =>
      tick.checked
        ? { opening: opening.value, closing: closing.value || "</think>", budget: fields.value("budget") }
        : null,
    choose(part) {
      tick.checked = Boolean(part);
      if (part) {
        opening.value = part.opening;
        closing.value = part.closing;
        fields.set({ budget: part.budget });
      }
      show();
    },
  };
}

const HOLE = "▢";

/** The hole that a run fills: the texts before and after it; off until it is ticked. It changes the grammar of the
    page, which is compiled again; a text with the mark of a hole fills both fields. */
function filling(find) {
  const tick = find("input.fills"),
    box = find(".filling"),
    [before, after] = ["before", "after"].map((name) => find(`.filling textarea.${name}`));
  const chosen = () =>
    tick.checked && (before.value || after.value) ? { prefix: before.value, suffix: after.value } : null;
  const update = () => {
    box.hidden = !tick.checked;
    const hole = chosen();
    if (JSON.stringify(hole) === JSON.stringify(state.hole)) return;
    state.hole = hole;
    state.pending = true;
    emit("typed");
    emit("compile now");
  };
  const later = debounce(300, update);
  for (const field of [before, after])
    field.addEventListener("input", () => {
      const at = field.value.indexOf(HOLE);
      if (at >= 0) [before.value, after.value] = [field.value.slice(0, at), field.value.slice(at + HOLE.length)];
      later();
    });
  tick.addEventListener("change", update);
  return {
    chosen,
    choose(hole) {
      tick.checked = Boolean(hole);
      [before.value, after.value] = [hole?.prefix ?? "", hole?.suffix ?? ""];
      update();
    },
  };
}

/** The monitor that keeps the meaning; hidden where none fits the grammar. */
function monitors(find) {
  const box = find(".monitors"),
    menu = find("select.monitor"),
    does = find(".note.monitored");
  let wanted = "",
    known = [];
  function show() {
    const chosen = known.find((each) => each.name === menu.value);
    does.hidden = !chosen;
    does.textContent = chosen ? `${menu.value}: ${chosen.title}. ${chosen.source}` : "";
  }
  function choose(name) {
    wanted = name ?? "";
    menu.value = known.some((each) => each.name === wanted) ? wanted : "";
    show();
  }
  menu.addEventListener("change", () => {
    wanted = menu.value;
    show();
  });
  on("compiled", ({ ok, monitors: fitting = [] }) => {
    if (!ok) return; // while a grammar is typed, the choice is kept
    known = fitting;
    menu.replaceChildren(
      el("option", { value: "" }, "none"),
      ...known.map((each) => el("option", { value: each.name, title: each.title }, each.name)),
    );
    box.hidden = !known.length;
    choose(wanted);
  });
  return { chosen: () => menu.value, choose };
}

const ENDED = "The run ended: ";
const READING = "Run waits for the grammar, which is being read";
const BROKEN = "Run needs a grammar that can be read: see Problems";
const EMPTY = "Run needs a grammar: write one, or choose an example above";

const FIELDS = {
  temperature: TEMPERATURE,
  seed: { at: "input.seed", low: 0, high: 2 ** 31 - 1, whole: true, usual: 1 },
  max_tokens: { at: "input.max", name: "at most", low: 1, high: 1024, whole: true, usual: 128 },
  budget: { at: ".thinking input.budget", name: "reasoning at most", low: 0, high: 1024, whole: true, usual: 64 },
  ...STAGE_FIELDS,
};

/** A row of choices of which one is taken, kept in the browser. */
function choices(box, options, name, act) {
  const kept = saved.get(name);
  const [first] = options.find(([key]) => key === kept) ?? options[0];
  radios(box, "data-key", options, (key) => {
    act(key);
    saved.set(name, key);
  })(first);
  act(first);
}

/** Which chart, which colour, and the legend that goes with it. */
export function createRunViews(key, doors) {
  const legend = key.querySelector(".legend"),
    means = el("span.means");
  key.append(means);
  let shade = "surprisal",
    shown = "";
  /** The legend changes with the colour, and for rules with the run. */
  function show() {
    const mark = shade === "rule" ? shade + shades.rulesOf(doors.steps()).join(" ") : shade;
    if (mark === shown) return;
    shown = mark;
    legend.replaceChildren(shades.legend(shade, doors.steps()));
    const { name, means: meaning } = shades.all[shade];
    means.textContent =
      `${name[0].toUpperCase() + name.slice(1)}: ${meaning}. Perplexity 1: the model expected ` +
      "every token. Bits removed by the mask: 0 where it forbids nothing the model wants.";
  }
  choices(
    key.querySelector(".shades"),
    Object.entries(shades.all).map(([name, each]) => [name, each.name]),
    "colour by",
    (name) => {
      shade = name;
      doors.shade(name);
      show();
    },
  );
  const charts = Object.entries(KINDS).map(([name, kind]) => [name, kind.name]);
  choices(key.querySelector(".charts"), charts, "chart", doors.chart);
  return { legend: show };
}

/** Keys that work everywhere on the page, and Escape out of the inspector. */
export function bindRunKeys(find, acts) {
  document.addEventListener(
    "keydown",
    (event) => {
      // in these fields the keys add a test, or read the text
      const own = event.target instanceof Element && event.target.closest("#wb-sec-tests, #wb-run .reading");
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && state.view !== "compare" && !own) {
        useUp(event);
        acts.run();
      }
      if (event.key === "Escape" && state.running && !isDialogOpen()) acts.stop();
    },
    true,
  );
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !state.running && find(".insp").contains(document.activeElement))
      find(".tokens [tabindex='0']")?.focus();
    if (!isPageKey(event) || state.view !== "workbench") return;
    const act = { s: acts.step, p: acts.play }[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
}

/** Messages for screen readers: at most one in two seconds during a run. */
export function createAnnouncer(box) {
  const LEAST = 2000;
  let last = 0;
  return {
    soon(text) {
      const now = performance.now();
      if (now - last >= LEAST) {
        last = now;
        box.textContent = text;
      }
    },
    say(text) {
      last = performance.now();
      box.textContent = text;
    },
  };
}

/** @param {RunPanel} panel */
const settings = (panel) => ({
  temperature: panel.fields.value("temperature"),
  seed: panel.fields.value("seed"),
  max_tokens: panel.fields.value("max_tokens"),
  ...panel.stages.chosen(),
  constraint: panel.mask.value,
  small_tokens: panel.small.checked,
  finish: panel.finishes.checked,
  ...(depth(panel) === null ? {} : { lookahead: depth(panel) }),
  ...(panel.watched.chosen() ? { monitor: panel.watched.chosen() } : {}),
  ...(panel.draft.chosen() ? { draft: panel.draft.chosen() } : {}),
  ...(panel.free.chosen() ? { reasoning: panel.free.chosen() } : {}),
  ...(panel.hole.chosen() ? { hole: panel.hole.chosen() } : {}),
});

/** How far a token may reach ahead, where the method asks for it; null for no bound. @param {RunPanel} panel */
const depth = (panel) => (panel.deep.hidden || !/^\d+$/.test(panel.k.value.trim()) ? null : Number(panel.k.value));

/** Which buttons can be pressed: `ready` is the grammar, `open` the branch that is shown. @param {RunPanel} panel */
function busy(panel, { running, taking, open, ready }) {
  const lacking = !state.text.trim() ? EMPTY : state.pending ? READING : BROKEN,
    wrong = panel.fields.fault();
  for (const go of panel.starts) {
    go.disabled = running || !ready || Boolean(wrong);
    go.title = wrong || (running || ready ? "" : lacking);
  }
  panel.buttons.step.disabled = running || taking || (!ready && !open) || Boolean(wrong);
  panel.buttons.goon.disabled = running || taking || !open || Boolean(wrong);
  panel.buttons.halt.disabled = !running;
  panel.find(".blank p").textContent = ready || running ? panel.blank : lacking;
  panel.find(".blank .byhand").hidden = !ready;
}

/** Say what went wrong; nothing for nothing.
    @param {RunPanel} panel @param {string} message @param {string} [hint] @param {string} [before] */
function fault(panel, message, hint = "", before = ENDED) {
  panel.box.hidden = !message;
  panel.box.replaceChildren(el("b", before || ENDED), message + (hint ? ` — ${hint}` : ""));
}

/** @param {RunPanel} panel */
function apply(panel, wanted) {
  const given = Object.entries(wanted).filter(([, number]) => Number.isFinite(number));
  panel.fields.set(Object.fromEntries(given));
  panel.stages.choose(wanted);
  if ([...panel.mask.options].some((option) => option.value === wanted.constraint))
    panel.mask.value = wanted.constraint;
  panel.small.checked = Boolean(wanted.small_tokens);
  panel.finishes.checked = Boolean(wanted.finish);
  panel.k.value = Number.isFinite(wanted.lookahead) ? String(wanted.lookahead) : "";
  if (typeof wanted.draft === "string") panel.draft.choose(wanted.draft);
  panel.free.choose(wanted.reasoning);
  panel.hole.choose(wanted.hole);
  panel.watched.choose(wanted.monitor);
  panel.chosen();
  summarize(panel);
}

/** On the folded options, those that differ from the usual ones. @param {RunPanel} panel */
function summarize(panel) {
  const { constraint, monitor, small_tokens, reasoning, hole, finish } = settings(panel);
  panel.find(".optionsfold .chosen").textContent = [
    constraint === "automaton" ? "" : panel.mask.selectedOptions[0].textContent,
    monitor,
    small_tokens ? "small tokens" : "",
    reasoning ? "reasoning" : "",
    hole ? "hole" : "",
    finish ? "must finish" : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** @param {RunPanel} panel */
function numbers(panel, branch, rate) {
  panel.stats.replaceChildren(
    ...runTotals(branch.steps, rate).map(([shown, name, title, detail]) =>
      el("span", { title }, el("b", shown), name, detail ? el("span.minor", detail) : ""),
    ),
  );
  const end = branch.outcome;
  panel.outcome.textContent = end
    ? (end.good ? "✓ " : "") + end.words
    : state.running
      ? ""
      : branch.steps.length
        ? "not finished: choose the next token, press Step, or press Continue"
        : "at the prompt: choose the first token, press Step, or press Continue";
  panel.outcome.className = `outcome ${end ? (end.good ? "good" : "warn") : "quiet"}`;
  // traps are searched for at intervals while tokens arrive, and once at the end
  if (state.running && performance.now() - panel.looked < 500) return;
  panel.looked = performance.now();
  alarmsOf(panel, branch);
}

/** @param {RunPanel} panel */
function alarmsOf(panel, branch) {
  const traps = loopAlarm.traps(branch.steps);
  const live = state.compiled && grammarKey(branch) === grammarKey(state.compiled);
  panel.doors.traps?.(traps);
  panel.alarms.replaceChildren(
    ...loopAlarm.lines(traps, branch.steps, live ? state.compiled : null, live ? panel.doors : { go: panel.doors.go }),
    ...spelling(panel, branch),
    ...meaning(branch),
  );
}

/** The value of the text, if the grammar describes values: an instance of the dataclass, a JSON value. */
function meaning(branch) {
  const value = branch.outcome?.value;
  return value
    ? [
        el(
          "span.trapline.meaning",
          { title: "What Grammar.parse gives for this text" },
          el("span.sign", { "aria-hidden": "true" }, "→"),
          "parsed: ",
          el("code", value),
        ),
      ]
    : [];
}

/** Where the tokenizer writes other tokens for the same text. @param {RunPanel} panel */
function spelling(panel, branch) {
  const found = branch.outcome?.proper;
  if (!found) return [];
  const own = found.own.slice(0, 3).flatMap((token) => [el("code", glyphs(token)), " "]);
  const where = createButton(`token ${found.at + 1}`, { class: "link" }, () => panel.doors.go(found.at));
  return [
    el(
      "span.trapline",
      {
        title:
          "Models rarely see such token sequences in training, so they give the following tokens " +
          "lower probabilities than the text deserves",
      },
      el("span.sign", { "aria-hidden": "true" }, "≠"),
      "the tokenizer would write different tokens from ",
      where,
      found.at_prompt ? " on (it would join the end of the prompt): " : ": ",
      ...own,
    ),
  ];
}

/** The token worth a first look: where the mask took most, or if it took nothing where the model was most
      surprised. */
function worthALook(steps) {
  const most = (key) =>
    steps.reduce(
      (best, step, index) => (!step.token.end && (step[key] ?? 99) > (steps[best][key] ?? 99) + 0.01 ? index : best),
      0,
    );
  const cost = most("m");
  return (steps[cost]?.m ?? 99) > 0.1 ? cost : most("s");
}

/** Room in the strip for what may come, so that nothing below it moves while it does; more than that is scrolled.
    @param {RunPanel} panel */
function reserve(panel, box, running) {
  const lines = Math.ceil((settings(panel).max_tokens * 26) / Math.max(200, box.clientWidth - 28));
  const high = `${Math.min(3, Math.max(1, lines)) * 32 + 14 + CALLOUT}px`;
  box.style.minHeight = box.style.maxHeight = running ? high : "";
}

/** @param {RunPanel} panel */
const newSeed = (panel) => {
  panel.fields.set({ seed: settings(panel).seed + 1 });
};

/** Knobs, numbers and alarms; `changed()` is called when a field begins or ends to be wrong. */
export function createRunPanel(find, server, changed) {
  drawStages(find, "The inspector shows the likeliest tokens' probabilities after each stage.");
  const fields = createNumberFields(find, FIELDS, changed);
  const mask = find("select.mask");
  const finishes = find(".finishes");
  const draft = drafting(find, server);
  const free = reasoning(find, fields);
  const stages = createStages(find, fields);
  const hole = filling(find);
  const watched = monitors(find);
  const deep = find(".deep");
  const k = find(".k");
  const method = find(".method");
  const chosen = methods(mask, (told) => {
    deep.hidden = !told?.deep;
    method.hidden = !told;
    method.textContent = told ? `${told.title}. ${told.source}` : "";
  });
  k.addEventListener("change", () => {
    if (depth(panel) === null) k.value = "";
  });
  const buttons = { go: find(".go"), step: find(".step"), goon: find(".goon"), halt: find(".halt") };
  const starts = [buttons.go, find(".runbar .primary")];
  const blank = find(".blank p").textContent;
  find(".options").addEventListener("change", () => summarize(panel));
  on("compiled", () => summarize(panel));
  const doors = {
    go: (index) => find(".tokens").children[index]?.click(),
    mend: (problem) => emit("fix", problem),
  };
  /** @type {RunPanel} */
  const panel = {
    fields,
    mask,
    small: find(".smalltokens"),
    finishes,
    stats: find(".stats"),
    outcome: find(".outcome"),
    alarms: find(".alarms"),
    draft,
    free,
    stages,
    hole,
    watched,
    deep,
    k,
    chosen,
    buttons,
    starts,
    blank,
    looked: 0,
    box: find(".runerr"),
    doors,
    find,
  };
  find(".copytext").addEventListener("click", (event) =>
    copyText(spelledText(state.steps.map((step) => step.token)), event.target),
  );
  return {
    ...bound(panel, { busy, fault, settings, apply, numbers, alarms: alarmsOf, reserve, newSeed }),
    buttons,
    mustFinish: (whether) => {
      finishes.checked = whether;
      const { usual } = FIELDS.max_tokens; // the limit that is chosen was that of another text
      if (whether) panel.fields.set({ max_tokens: Math.max(settings(panel).max_tokens ?? 0, usual) });
      summarize(panel);
    },
    worthALook,
    onTraps: (act) => {
      doors.traps = act;
    },
  };
}
