/* What is to be compared: methods, prompts, seeds and the other settings, and the number of runs they make. */

import { bound } from "./bound.js";
import { createButton, el, radios, roving, tabStop } from "./dom.js";
import { createNumberFields, TEMPERATURE } from "./fields.js";
import { createStages, drawStages, STAGE_FIELDS, stagesInWords } from "./stages.js";
import { on, state } from "./state.js";
import { formatNumber, several } from "./tokens.js";

/** @import { Contender } from "./wire" */

/** @typedef {{
      fields: ReturnType<typeof createNumberFields>,
      stages: ReturnType<typeof createStages>, groups: HTMLElement, few: HTMLElement,
      many: HTMLElement, more: HTMLElement, count: HTMLElement, prompts: HTMLTextAreaElement, says: HTMLElement,
      methods: Contender[], limits: { prompts: number, in_all: number }, chosen: Set<string>, lastPlan: string,
      source: string, wanted: string[] | null, taken: (source: string) => void,
      doors: { changed(plan: string, fault: string): void },
    }} CompareForm */

const WHOSE = { run: "of the workbench", example: "of the example", own: "my own" };

const HINT = {
  run: "The current prompt of the workbench.",
  example: "The prompt of this example.",
  own: "One prompt a line; \\n is a line break.",
};

const KNOBS = {
  seeds: { at: "input.seeds", low: 1, high: 30, whole: true, usual: 3 },
  seed: { at: "input.seed", name: "from", low: 0, high: 2000000000, whole: true, usual: 1 },
  temperature: TEMPERATURE,
  max_tokens: { at: "input.max", name: "at most", low: 1, high: 512, whole: true, usual: 64 },
};

/** @param {CompareForm} form */
const values = (form) => ({
  ...Object.fromEntries(Object.keys(KNOBS).map((name) => [name, form.fields.value(name)])),
  ...form.stages.chosen(),
});

const escaped = (text) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const plain = (line) => line.replace(/\\(n|\\)/g, (_, c) => (c === "n" ? "\n" : "\\"));

/** @param {CompareForm} form */
const given = (form) => (form.source === "example" ? (state.example?.prompt ?? "") : state.prompt);

/** @param {CompareForm} form */
const list = (form) =>
  form.source === "own"
    ? form.prompts.value
        .split("\n")
        .filter((line) => line !== "")
        .map(plain)
    : [given(form)];

/** @param {CompareForm} form */
function from(form, name) {
  if (form.source === "own") form.lastPlan = form.prompts.value;
  form.source = name;
  form.taken(name);
  show(form);
}

/** @param {CompareForm} form */
function show(form) {
  form.prompts.readOnly = form.source !== "own";
  form.prompts.value = form.source === "own" ? form.lastPlan || escaped(state.prompt) : given(form);
  form.prompts.placeholder = form.source === "own" ? "" : "empty: the model begins with nothing";
  form.says.textContent = HINT[form.source];
  report(form);
}

/** @param {CompareForm} form */
function box(form, method) {
  const button = el(
    "button.way",
    {
      role: "checkbox",
      "aria-checked": "false",
      tabindex: "-1",
      "data-name": method.name,
      title: `${method.detail || method.title}\n${method.source}`,
    },
    el("i", { "aria-hidden": "true" }),
    el("b", method.name),
    el("span.t", method.title),
  );
  button.addEventListener("click", () => {
    if (!form.chosen.delete(method.name)) form.chosen.add(method.name);
    mark(form);
  });
  return button;
}

/** Methods under a heading, as one tab stop. @param {CompareForm} form */
function group(form, name, members) {
  const row = el(
    "div.group",
    { role: "group", "aria-label": name },
    el("h3", name),
    ...members.map((method) => box(form, method)),
  );
  roving(row, (button) => tabStop(row.querySelectorAll("button"), button));
  row.querySelector("button").tabIndex = 0;
  return row;
}

/** @param {CompareForm} form */
function unfold(form, open) {
  form.many.hidden = !open;
  form.more.setAttribute("aria-expanded", String(open));
}

/** @param {CompareForm} form */
function load(form, answer) {
  ({ methods: form.methods, limits: form.limits } = answer);
  const usual = form.methods.filter((method) => method.usual),
    others = form.methods.filter((method) => !method.usual),
    gathered = Map.groupBy(others, (method) => method.group);
  form.few.replaceChildren(group(form, "Main methods", usual));
  form.many.replaceChildren(...[...gathered].map(([name, members]) => group(form, name, members)));
  form.more.textContent = `More methods (${others.length})`;
  pick(form, form.wanted ?? usualNames(form));
}

/** @param {CompareForm} form */
const usualNames = (form) => form.methods.filter((method) => method.usual).map((method) => method.name);

/** Take these methods and no others; unknown names are ignored. @param {CompareForm} form */
function pick(form, names) {
  form.chosen = new Set(form.methods.filter((method) => names.includes(method.name)).map((method) => method.name));
  mark(form);
}

/** @param {CompareForm} form */
function mark(form) {
  for (const button of form.groups.querySelectorAll(".way"))
    button.setAttribute("aria-checked", String(form.chosen.has(button.dataset.name ?? "")));
  form.count.textContent = `${form.chosen.size} of ${form.methods.length}`;
  if (form.methods.some((method) => !method.usual && form.chosen.has(method.name))) unfold(form, true);
  report(form);
}

/** What is asked of the server; `fault` says why it cannot be. A field says below it what is wrong with it.
    @param {CompareForm} form */
function asked(form) {
  const texts = [...new Set(list(form))],
    knobbed = values(form);
  const runs = form.chosen.size * Math.max(1, texts.length) * knobbed.seeds,
    tokens = runs * knobbed.max_tokens;
  const fault = !form.chosen.size
    ? "Choose at least one method."
    : texts.length > form.limits.prompts
      ? `At most ${form.limits.prompts} prompts at once, not ${texts.length}.`
      : tokens > form.limits.in_all
        ? `${several(runs, "run")} of ${knobbed.max_tokens} tokens are ${formatNumber(tokens)} ` +
          `tokens; this page takes ${formatNumber(form.limits.in_all)} at once. Choose fewer methods, ` +
          "seeds or tokens."
        : "";
  return {
    methods: form.methods.map((method) => method.name).filter((name) => form.chosen.has(name)),
    prompts: texts.length ? texts : [""],
    ...knobbed,
    runs,
    fault,
  };
}

/** @param {CompareForm} form */
function plan(form) {
  const { methods: names, prompts: texts, seeds, max_tokens, runs, fault, ...others } = asked(form),
    drawn = stagesInWords(others);
  return (
    fault ||
    `${several(names.length, "method")} × ${several(texts.length, "prompt")} × ` +
      `${several(seeds, "seed")}: ${several(runs, "run")} of at most ${several(max_tokens, "token")}` +
      `${drawn && `, drawn with ${drawn}`}.`
  );
}

/** @param {CompareForm} form */
const report = (form) => form.doors.changed(plan(form), asked(form).fault);

/** What a link holds of all this. @param {CompareForm} form */
const settings = (form) => ({
  methods: [...form.chosen],
  ...values(form),
  ...(form.source === "own"
    ? { prompts: form.prompts.value }
    : form.source === "example"
      ? { whose: form.source }
      : {}),
});

/** Set it as a link says; what it does not say stays. @param {CompareForm} form */
function apply(form, held) {
  form.fields.set(
    Object.fromEntries(Object.entries(held).filter(([name, value]) => KNOBS[name] && Number.isFinite(value))),
  );
  form.stages.choose(held);
  form.wanted = held.methods ?? form.wanted; // the list of methods may come later
  if (form.wanted && form.methods.length) pick(form, form.wanted);
  if (typeof held.prompts === "string") {
    form.lastPlan = held.prompts;
    form.source = "run";
    from(form, "own");
  } else if (held.whose) from(form, held.whose);
  report(form);
}

export function createCompareChoice(find, doors) {
  drawStages(find, "A run that is opened from the table shows the probabilities after each stage.");
  const fields = createNumberFields(find, { ...KNOBS, ...STAGE_FIELDS }, () => report(form));
  const groups = find(".ways");
  const [few, many] = groups.querySelectorAll(".groups");
  const more = find(".moreways");
  const whose = find(".whose");
  const prompts = find(".prompts");
  /** @type {CompareForm} */
  const form = {
    fields,
    stages: createStages(find, fields),
    groups,
    few,
    many,
    more,
    count: find(".count"),
    prompts,
    says: find(".says"),
    methods: [],
    limits: { prompts: 10, in_all: Infinity },
    chosen: new Set(),
    lastPlan: "",
    source: "run",
    wanted: null,
    taken: radios(whose, "data-whose", Object.entries(WHOSE), (name) => from(form, name)),
    doors,
  };
  more.addEventListener("click", () => unfold(form, many.hidden));
  const SETS = {
    default: () => usualNames(form),
    all: () => form.methods.map((method) => method.name),
    none: () => [],
  };
  find(".sets").append(
    ...Object.entries(SETS).map(([name, names]) => createButton(name, { class: "bare" }, () => pick(form, names()))),
  );
  find(".setup").addEventListener("input", () => report(form));
  on("example", (example) => {
    form.lastPlan = prompts.value = "";
    const { usual, high } = KNOBS.max_tokens;
    fields.set({ max_tokens: Math.min(high, example.max_tokens || usual) });
    from(form, "run");
  });
  on("view", () => show(form));
  from(form, "run");
  return {
    ...bound(form, { load, asked, plan, settings, apply }),
    fieldFault: fields.fault,
    loaded: () => form.methods.length > 0,
    about: (name) => form.methods.find((method) => method.name === name),
  };
}
