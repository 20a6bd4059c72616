/* The panes under the editor: problems, the time of each step, the outline of the rules, sample texts, what an edit
   changed, and the menu that converts a grammar to another notation. */

import { createLatest } from "./ask.js";
import { createButton, createMenu, el, scrollIntoColumn } from "./dom.js";
import { notations } from "./notations.js";
import { emit, grammarKey, grammarOf, on, state, wholeOf } from "./state.js";
import { addGridKeys } from "./tests.js";
import { formatNumber, visibleText } from "./tokens.js";

/** @typedef {{ rules: Rule[], live: Set<string>, box: HTMLElement, counted: (count: number) => void }} Outline */

/** @typedef {{
      latest: ReturnType<typeof createLatest>, before: (GrammarText & { name: string }) | null,
      answered: string, box: HTMLElement,
      server: Server, put: (tests: ExpectedTest[]) => void,
      counted: (gained: number, lost: number) => void,
    }} ChangeList */
/** @typedef {{
      latest: ReturnType<typeof createLatest>, seed: number, shown: string, box: HTMLElement,
      server: Server, put: (tests: ExpectedTest[]) => void,
    }} SampleList */
/** @import { Answer, ChangeAnswer, Phase, Problem, Rule, SchemasInside, Server } from "./wire" */
/** @import { ExpectedTest, OpenedExample } from "./events" */
/** @import { GrammarText } from "./state.js" */
/* Problems: errors in a grammar, warnings about what probably was not meant, and notes. */
const SIGNS = { error: ["✗", "no"], warning: ["▲", "warn"], note: ["•", "quiet"] };
const SHOWN = 60;

const short = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);

/** The button that puts a fix in the place of what was written. */
export function fixButton(problem) {
  const { fix, fix_at: at } = problem;
  if (fix === null || fix === undefined) return "";
  const word = at && at.start === at.end ? "insert" : "write",
    shown = visible(fix.trim());
  return createButton(
    fix ? `${word} ${short(shown)}` : "delete it",
    { class: "link fix", title: fix ? `${word === "write" ? "Write" : "Insert"} ${shown}` : "Delete this piece" },
    () => emit("fix", problem),
  );
}

/** A fix of several lines, or of white space, as text in one line. */
const visible = (text) => text.replace(/\s*\n\s*/g, " ⏎ ") || "a space";

function row(problem) {
  const [sign, colour] = SIGNS[problem.severity] ?? SIGNS.error;
  const what = el(
    "span.what",
    createButton(
      [el("b", { class: `word ${colour}` }, problem.severity), ` ${problem.message}`],
      { class: "link said", title: "Go to the place" },
      () => emit("place", problem),
    ),
  );
  if (problem.hint && (problem.fix ?? null) === null) what.append(el("span.hint", problem.hint));
  return el(
    "li",
    { class: `row ${problem.severity}` },
    el("span", { class: `sign ${colour}`, "aria-hidden": "true" }, sign),
    el("span.at", problem.line ? `${problem.line}:${problem.column}` : "—"),
    what,
    fixButton(problem),
    problem.unassertable ? leaveOutButton(problem.unassertable) : "",
  );
}

/** The button that reads a JSON Schema without a keyword. @param {string} keyword */
const leaveOutButton = (keyword) =>
  createButton(`leave out ${keyword}`, { class: "link fix", title: `Read the schema as if it had no ${keyword}` }, () =>
    emit("leave out", keyword),
  );

/** Write rules after the text. */
function add(rules) {
  const end = [...state.text].length,
    before = state.text.endsWith("\n") ? "" : "\n";
  emit("fix", { fix: before + rules.join("\n"), fix_at: { start: end, end } });
}

const said = (kind, ...what) =>
  el("li", { class: `row ${kind}` }, el("span.sign"), el("span.at", "—"), el("span.what", ...what));

/** A button of a row. @param {string} words @param {() => void} act @param {string | null} [title] */
const rowButton = (words, act, title = null) => createButton(words, { class: "link fix", title }, act);

/** The text looks like another notation. @param {string} notation */
function looksRow(notation) {
  const row = said("", `this looks like ${notations[notation].one}`);
  const change = rowButton(`switch to ${notations[notation].label}`, () => {
    emit("switch", notation);
    emit("focus editor");
  });
  change.classList.add("switch");
  row.append(change);
  return row;
}

/** The text is a document with schemas inside. @param {SchemasInside} inside */
function insideRow({ kind, schemas, more }) {
  const uses = schemas.flatMap(({ pointer, text }, index) => {
    const use = rowButton(pointer, () => emit("rewrite", { text }), "Replace the whole text by this schema");
    use.setAttribute("aria-label", `use the schema ${pointer}`);
    return index ? [", ", use] : [use];
  });
  return said("", `this is ${kind}, not a schema: use the schema `, ...uses, more ? ` or one of ${more} more` : "");
}

/** The error of a rule that is being written is not shown yet. @param {() => void} speak */
function heldRow(speak) {
  const row = said("quiet", "the rule at the caret is not finished; its error is shown when the caret leaves it");
  row.append(rowButton("show it now", speak));
  return row;
}

/** What can be done about several problems together. */
function fixRows(problems) {
  const bounds = problems.filter((problem) => problem.fix),
    missing = problems.flatMap((problem) => problem.missing_rule ?? []);
  const acts = [];
  const words = missing.length > 1 ? `add the ${missing.length} missing rules` : "add the missing rule";
  if (missing.length) acts.push(rowButton(words, () => add(missing)));
  if (bounds.length > 1) acts.push(rowButton(`apply all ${bounds.length} fixes`, () => emit("fix all", bounds)));
  return acts.length ? [el("li.row.none.all", ...acts)] : [];
}

/** ``looks``: the notation that the text looks like; ``inside``: the schemas in a document around them;
    ``searched``: what was looked for, ``looking`` while it is; ``held``: how many problems of the rule at the
    caret are held back.
    @typedef {{ problems: Problem[], looks?: string, inside?: SchemasInside | null,
      failure?: string, searched?: string, looking?: boolean, empty?: boolean, held: number,
      speak: () => void }} KnownProblems */

/** The list in ``box``; ``counted`` gets how many there are, and how bad the worst is.
    @returns {{ show(known: KnownProblems): void }} */
export const createProblemList = (box, counted) => ({
  show({ problems, looks, inside, failure, searched, looking, empty, held, speak }) {
    const rows = problems.slice(0, SHOWN).map(row);
    if (problems.length > SHOWN) rows.push(said("quiet", `${problems.length - SHOWN} more`));
    if (looks) rows.unshift(looksRow(looks));
    if (inside) rows.unshift(insideRow(inside));
    if (failure) rows.push(said("no", failure));
    if (held) rows.push(heldRow(speak));
    if (!rows.length && !empty)
      rows.push(
        el(
          "li.row.none",
          looking ? el("span.quiet", "looking for fixes…") : el("span", el("span.good", "✓"), " nothing to fix"),
        ),
      );
    rows.push(...fixRows(problems));
    if (searched && !looking) rows.push(el("li.row.none.quiet", searched));
    box.replaceChildren(...rows);
    addGridKeys(box);
    const of = (severity) => problems.filter((problem) => problem.severity === severity).length;
    const worst = ["error", "warning", "note"].find(of);
    counted({
      count: problems.length + (failure ? 1 : 0),
      sign: failure ? "✗" : worst ? SIGNS[worst][0] : "",
      colour: failure ? "no" : worst ? SIGNS[worst][1] : "",
      worst,
    });
  },
});

/* Phases: how long each step from the text to the first mask took, as a bar with names. */
const PHASE_TITLES = {
  read: "the text is read into a tree",
  NFA: "the tree becomes a machine with choices",
  "minimal DFA": "the smallest machine without choices",
  "first states": "the first states of a machine too large to be made at once",
  "all states": "all states of a large machine, for counting and drawing them",
  rules: "the rules are checked and gathered",
  automata: "every rule becomes an automaton",
  tokens: "grammar and vocabulary meet",
  "first mask": "which of the model's tokens may come first",
};

const ms = (value) => (value < 0.095 ? "< 0.1" : value < 9.95 ? value.toFixed(1) : String(Math.round(value)));

/** Show phases, each ``{name, ms}``; nothing for none: the room stays.
    @param {HTMLElement} box @returns {(phases: Phase[]) => void} */
export const createPhaseBar = (box) => (phases) => {
  if (!phases.length) {
    box.replaceChildren();
    return;
  }
  // a fast grammar on a coarse clock can need 0 ms in all
  const all = phases.reduce((sum, phase) => sum + phase.ms, 0) || 1;
  const bar = el(
    "span.phasebar",
    { "aria-hidden": "true" },
    ...phases.map((phase, index) => {
      const part = el("i", { class: `p${index % 6}` });
      part.style.flexGrow = String(Math.max(phase.ms / all, 0.02));
      return part;
    }),
  );
  const names = phases.map((phase, index) =>
    el(
      "span.phase",
      { title: PHASE_TITLES[phase.name] ?? phase.name },
      el("i", { class: `p${index % 6}`, "aria-hidden": "true" }),
      `${phase.name} `,
      el("b", ms(phase.ms)),
    ),
  );
  box.replaceChildren(bar, ...names, el("span.unit", "ms"));
};

/* Outline: every rule with the rules it calls, the rules that call it, and its properties. */
const FLAG_TITLES = {
  start: "every text begins here",
  unused: "no rule that is used calls it",
  "never ends": "no text can be derived from it",
  recursive: "it calls itself, or is called by a rule it calls",
  "left-recursive": "it calls itself before anything is read",
  "may be empty": "the empty text is one of its texts",
  regular: "it needs no stack",
};

const LOUD = new Set(["unused", "never ends"]);

/* The Convert menu: the present grammar, written in another notation and put into the tab of that notation. */
/** ``turned`` gets the grammar in its new notation.
    @param {HTMLElement} menu @param {Server} server @param {(grammar: OpenedExample) => void} turned */
export function createConvertMenu(menu, server, turned) {
  const list = menu.querySelector("ul"),
    status = menu.querySelector(".status"),
    { close } = createMenu(menu);
  menu.querySelector("button").addEventListener("click", () => {
    status.textContent = "";
    fill();
  });

  function fill() {
    const entries = Object.entries(notations).filter(
      ([name, { written }]) => written && (name !== state.notation || name === "machine"),
    );
    list.replaceChildren(
      ...entries.flatMap(([notation, { label, targets = { [notation]: label } }]) =>
        Object.entries(targets)
          .filter(([to]) => to !== "subsets" || state.notation === "machine")
          .map(([to, title]) =>
            el(
              "li",
              createButton(`to ${title}`, {}, () => convert(to, notation)),
            ),
          ),
      ),
    );
  }
  const latest = createLatest({
    busy: (waiting) => {
      status.textContent = waiting ? "converting…" : status.textContent === "converting…" ? "" : status.textContent;
    },
    subject: () => grammarKey(state),
  });
  const convert = (to, notation) =>
    latest.run(async (ask) => {
      const answer = await ask(server.convert_grammar, { ...grammarOf(state), to });
      status.textContent = answer.why || "";
      if (!answer.ok) return;
      close();
      const { prompt, system, tests } = state;
      turned({ text: answer.text, start: answer.start, notation, prompt, system, tests });
    });
}

/** A text of the language, or outside it. @param {string} text */
const sampleText = (text) => el("span.text", text ? visibleText(text) : el("span.quiet", "the empty text"));

/** @param {SampleList} samples */
function sampleRow(samples, text, expect, what = "") {
  const has = state.tests.some((test) => test.text === text);
  const add = createButton(
    has ? "added" : `+ ${expect}`,
    { class: "link add", disabled: has, title: `Add as a test that is expected to be ${expect}ed` },
    () => {
      samples.put([{ text, expect }]);
      add.disabled = true;
      add.textContent = "added";
    },
  );
  return el("li", add, sampleText(text), what ? el("span.quiet.what", what) : null);
}

/** @param {SampleList} samples */
function showSamples(samples, answer) {
  if (!answer.ok) {
    samples.box.replaceChildren(el("p.quiet", answer.why));
    return;
  }
  const more = createButton("More", { class: "more" }, () => {
    samples.seed += 1;
    samples.shown = "";
    askSamples(samples);
  });
  const list = (name, rows) => {
    const ul = el("ul.samples", { "aria-label": name }, ...rows);
    addGridKeys(ul);
    return ul;
  };
  const none = el("p.quiet", "No text was found.");
  samples.box.replaceChildren(
    el("div.head", el("span.quiet", { title: `How they are drawn: ${answer.how}` }, "Accepted, drawn at random"), more),
    answer.texts.length
      ? list(
          "Samples",
          answer.texts.map((text) => sampleRow(samples, text, "accept")),
        )
      : none,
    ...(answer.misses.length
      ? [
          el("div.head", el("span.quiet", "Almost: one edit away, and rejected")),
          list(
            "Near misses",
            answer.misses.map(({ text, what }) => sampleRow(samples, text, "reject", what)),
          ),
        ]
      : []),
    el("p.how.quiet", `Drawn: ${answer.how}.`),
  );
}

/** Request samples of the present grammar, unless they are shown already. @param {SampleList} samples */
function askSamples(samples) {
  const key = grammarKey(state);
  if (samples.shown === key || !state.compiled?.ok) {
    samples.latest.drop();
    return;
  }
  if (!samples.box.childNodes.length) samples.box.replaceChildren(el("p.quiet", "drawing…"));
  samples.latest.run(async (ask) => {
    const answer = await ask(samples.server.sample_texts, { ...grammarOf(state), seed: samples.seed });
    samples.shown = key;
    const held = samples.box.contains(document.activeElement);
    showSamples(samples, answer);
    if (held) samples.box.querySelector(".more")?.focus();
  });
}

/* Samples: texts of the language, and texts outside it by one edit. A click makes one a test. */
/** The samples in ``box``; ``put`` adds tests.
    @param {HTMLElement} box @param {Server} server @param {(tests: object[]) => void} put */
export function createSampleList(box, server, put) {
  /** @type {SampleList} */
  const samples = {
    latest: createLatest(),
    seed: 0,
    shown: "", // the grammar whose samples are shown
    box,
    server,
    put,
  };
  return {
    ask: () => askSamples(samples),
    open() {
      samples.seed = 0;
      samples.shown = "";
    },
  };
}

const now = () => wholeOf(state);

const key = (held) => grammarKey(held).trimEnd();

/** @param {ChangeList} changes */
const untouched = (changes) => !changes.before || key(changes.before) === key(now());

/** Compare with this one from here on. @param {ChangeList} changes */
function from(changes, held, name) {
  changes.before = { ...held, name };
  changes.latest.drop();
  changes.answered = "";
  tell(changes);
}

/** @param {ChangeList} changes */
const mark = (changes) =>
  createButton(
    "Compare with this version",
    { class: "more", title: "From now on, compare changes with the present grammar" },
    () => from(changes, now(), "when you pressed “Compare with this version”"),
  );

/** @param {ChangeList} changes */
const head = (changes, ...said) =>
  el("div.head", el("span.quiet", ...said), untouched(changes) || !state.compiled?.ok ? null : mark(changes));

/** @param {ChangeList} changes @param {Answer<ChangeAnswer> | { why: string } | null} [answer] */
function tell(changes, answer) {
  changes.counted(0, 0);
  if (untouched(changes))
    changes.box.replaceChildren(
      head(
        changes,
        changes.before
          ? "Nothing has changed yet. Edit the grammar: here is a text that it gained, and one that it lost."
          : "",
      ),
    );
  else if (!answer) changes.box.replaceChildren(head(changes, "comparing…"));
  else if ("exact" in answer) showChanges(changes, answer);
  else {
    const { why } = /** @type {{ why?: string }} */ (answer);
    changes.box.replaceChildren(head(changes, why));
  }
}

/** @param {ChangeList} changes */
function changeRow(changes, { text }, sign, colour, what, expect) {
  const add = createButton(`+ ${expect}`, { class: "link add" }, () => {
    changes.put([{ text, expect }]);
    add.disabled = true;
    add.textContent = "added";
  });
  return el(
    "li",
    el("span", el("b", { class: colour, "aria-hidden": "true" }, sign), ` ${what}`),
    sampleText(text),
    add,
  );
}

/** @param {ChangeList} changes */
function showChanges(changes, { same, exact, gained, lost, how }) {
  changes.counted(gained ? 1 : 0, lost ? 1 : 0);
  const none = (what) =>
    el(
      "li.quiet",
      el("span", el("span", { "aria-hidden": "true" }, "="), ` ${what}`),
      el("span", exact ? "nothing" : "nothing was found"),
      el("span"),
    );
  const rows = [
    gained ? changeRow(changes, gained, "+", "good", "gained", "accept") : none("gained"),
    lost ? changeRow(changes, lost, "−", "no", "lost", "reject") : none("lost"),
  ];
  const list = el("ul.changes", { "aria-label": "What changed" }, ...rows);
  changes.box.replaceChildren(
    head(
      changes,
      same ? "Another text, the same language" : "The shortest text gained and lost",
      `, against the grammar ${changes.before?.name}`,
    ),
    list,
    el("p.how.quiet", `${how[0].toUpperCase() + how.slice(1)}.`),
  );
}

/** Compare, unless the result is shown already. @param {ChangeList} changes */
function askChanges(changes) {
  if (untouched(changes) || !state.compiled?.ok) {
    changes.latest.drop();
    changes.answered = "";
    tell(changes, untouched(changes) ? null : { why: "The grammar cannot be read yet." });
    return;
  }
  const both = key(changes.before) + key(now());
  if (both === changes.answered) return;
  changes.answered = "";
  tell(changes);
  changes.latest.run(async (ask) => {
    const answer = await ask(changes.server.what_changed, { ...now(), before: grammarOf(changes.before ?? {}) });
    changes.answered = both;
    tell(changes, answer);
  });
}

/* What an edit changed: a shortest text that the language gained and a shortest one that it lost. */
/** The list in ``box``; ``put`` adds tests, ``counted`` gets the numbers of texts gained and lost.
    @param {HTMLElement} box @param {Server} server @param {(tests: object[]) => void} put
    @param {(gained: number, lost: number) => void} counted */
export function createChangeList(box, server, put, counted) {
  /** @type {ChangeList} */
  const changes = { latest: createLatest(), before: null, answered: "", box, server, put, counted };
  return { ask: () => askChanges(changes), from: (held, name) => from(changes, held, name) };
}

/** @param {Outline} outline */
const goTo = (outline, name) => {
  const rule = outline.rules.find((each) => each.name === name);
  if (rule) emit("place", rule.places[0]);
};

/** @param {Outline} outline */
function names(outline, title, list) {
  if (!list.length) return null;
  const links = list.map((name) =>
    createButton(name, { class: "link name", title: `Go to ${name}` }, () => goTo(outline, name)),
  );
  return el("span.names", `${title} `, ...links.flatMap((link, index) => (index ? [", ", link] : [link])));
}

/** A button that goes to one place after the other. */
function uses(places) {
  let next = 0;
  return createButton(
    places.length === 1 ? "used once" : `used ${places.length} times`,
    { class: "link count", title: "Go to where it is used, one after the other" },
    () => emit("place", places[next++ % places.length]),
  );
}

/** @param {Outline} outline */
const ruleRow = (outline, rule) =>
  el(
    "li",
    { class: outline.live.has(rule.name) ? "now" : "", "data-rule": rule.name },
    createButton(rule.name, { class: "link def", title: "Go to its definition" }, () => emit("place", rule.places[0])),
    el(
      "span.about",
      el(
        "span.flags",
        ...rule.flags.map((flag) =>
          el("span", { class: `flag${LOUD.has(flag) ? " loud" : ""}`, title: FLAG_TITLES[flag] }, flag),
        ),
      ),
      names(outline, "calls", rule.calls),
      names(outline, "called by", rule.called_by),
      rule.references.length ? uses(rule.references) : null,
    ),
  );

/** @param {Outline} outline */
function showRules(outline, answer) {
  outline.rules = answer.rules ?? [];
  const more = answer.left_out ? [el("li.quiet", `and ${formatNumber(answer.left_out)} more rules`)] : [];
  outline.box.replaceChildren(...outline.rules.map((rule) => ruleRow(outline, rule)), ...more);
  addGridKeys(outline.box);
  outline.counted(outline.rules.length);
}

/** The list in ``box``; ``counted`` gets the number of rules. */
export function createOutline(box, counted) {
  /** @type {Outline} */
  const outline = { rules: [], live: new Set(), box, counted };
  on("live rules", (now) => {
    outline.live = new Set(now);
    for (const li of box.children) li.classList.toggle("now", outline.live.has(li.dataset.rule));
    const inner = box.querySelector(`[data-rule="${CSS.escape(now[now.length - 1] ?? "")}"]`),
      panel = box.closest(".panel");
    if (inner && !box.parentNode.hidden && !panel.contains(document.activeElement)) scrollIntoColumn(panel, inner, 6);
  });
  return { show: (answer) => showRules(outline, answer) };
}
