/* What is to be compared: methods, prompts, seeds and the other settings, and the number of runs they make. */

import { el, radios, roving } from "./dom.js";
import { createNumberFields, TEMPERATURE } from "./fields.js";
import { createStages, drawStages, STAGE_FIELDS, stagesInWords } from "./stages.js";
import { on, state } from "./state.js";
import { formatNumber, several } from "./tokens.js";

const KNOBS = {
  seeds: { at: "input.seeds", low: 1, high: 30, whole: true, usual: 3 },
  seed: { at: "input.seed", name: "from", low: 0, high: 2000000000, whole: true, usual: 1 },
  temperature: TEMPERATURE,
  max_tokens: { at: "input.max", name: "at most", low: 1, high: 512, whole: true, usual: 64 },
};

export function createCompareChoice(find, doors) {
  drawStages(find, "A run that is opened from the table shows the probabilities after each stage.");
  const fields = createNumberFields(find, { ...KNOBS, ...STAGE_FIELDS }, () => report()),
    stages = createStages(find, fields);
  const groups = find(".ways"),
    [few, many] = groups.querySelectorAll(".groups"),
    more = find(".moreways"),
    count = find(".count"),
    whose = find(".whose"),
    prompts = find(".prompts"),
    says = find(".says");
  let methods = [],
    limits = { prompts: 10, in_all: Infinity },
    chosen = new Set(),
    kept = "",
    source = "run",
    named = null;

  const values = () => ({
    ...Object.fromEntries(Object.keys(KNOBS).map((name) => [name, fields.value(name)])),
    ...stages.chosen(),
  });

  // -- prompts ------------------------------------------------------------------------------------
  const WHOSE = { run: "of the workbench", example: "of the example", own: "my own" };
  const HINT = {
    run: "The current prompt of the workbench.",
    example: "The prompt of this example.",
    own: "One prompt a line; \\n is a line break.",
  };
  const escaped = (text) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const plain = (line) => line.replace(/\\(n|\\)/g, (_, c) => (c === "n" ? "\n" : "\\"));
  const given = () => (source === "example" ? (state.example?.prompt ?? "") : state.prompt);
  const list = () =>
    source === "own"
      ? prompts.value
          .split("\n")
          .filter((line) => line !== "")
          .map(plain)
      : [given()];
  const taken = radios(whose, "data-whose", Object.entries(WHOSE), from);
  function from(name) {
    if (source === "own") kept = prompts.value;
    source = name;
    taken(name);
    show();
  }
  function show() {
    prompts.readOnly = source !== "own";
    prompts.value = source === "own" ? kept || escaped(state.prompt) : given();
    prompts.placeholder = source === "own" ? "" : "empty: the model begins with nothing";
    says.textContent = HINT[source];
    report();
  }

  // -- methods ------------------------------------------------------------------------------------
  function box(method) {
    const button = el(
      "button",
      {
        type: "button",
        role: "checkbox",
        class: "way",
        "aria-checked": "false",
        tabindex: "-1",
        "data-name": method.name,
        title: `${method.detail || method.title}\n${method.source}`,
      },
      el("i", { "aria-hidden": "true" }),
      el("b", {}, method.name),
      el("span", { class: "t" }, method.title),
    );
    button.addEventListener("click", () => {
      if (!chosen.delete(method.name)) chosen.add(method.name);
      mark();
    });
    return button;
  }
  /** Methods under a heading, as one tab stop. */
  function group(name, members) {
    const row = el(
      "div",
      { class: "group", role: "group", "aria-label": name },
      el("h3", {}, name),
      ...members.map(box),
    );
    roving(row, (button) => {
      for (const each of row.querySelectorAll("button")) each.tabIndex = each === button ? 0 : -1;
    });
    row.querySelector("button").tabIndex = 0;
    return row;
  }
  function unfold(open) {
    many.hidden = !open;
    more.setAttribute("aria-expanded", String(open));
  }
  more.addEventListener("click", () => unfold(many.hidden));
  function load(answer) {
    ({ methods, limits } = answer);
    const gathered = new Map();
    for (const method of methods.filter((each) => !each.usual))
      gathered.set(method.group, [...(gathered.get(method.group) ?? []), method]);
    few.replaceChildren(
      group(
        "Main methods",
        methods.filter((each) => each.usual),
      ),
    );
    many.replaceChildren(...[...gathered].map(([name, members]) => group(name, members)));
    more.textContent = `More methods (${methods.length - few.querySelectorAll(".way").length})`;
    pick(named ?? usual());
  }
  const usual = () => methods.filter((method) => method.usual).map((method) => method.name);
  /** Take these methods and no others; unknown names are ignored. */
  function pick(names) {
    chosen = new Set(methods.filter((method) => names.includes(method.name)).map((method) => method.name));
    mark();
  }
  const SETS = { default: usual, all: () => methods.map((method) => method.name), none: () => [] };
  find(".sets").append(
    ...Object.entries(SETS).map(([name, names]) =>
      el("button", { type: "button", class: "bare", onclick: () => pick(names()) }, name),
    ),
  );
  function mark() {
    for (const button of groups.querySelectorAll(".way"))
      button.setAttribute("aria-checked", String(chosen.has(button.dataset.name)));
    count.textContent = `${chosen.size} of ${methods.length}`;
    if (methods.some((method) => !method.usual && chosen.has(method.name))) unfold(true);
    report();
  }

  // -- what that comes to ---------------------------------------------------------------------------
  /** What is asked of the server; `fault` says why it cannot be. A field says below it what is wrong with it. */
  function asked() {
    const texts = [...new Set(list())],
      knobbed = values();
    const runs = chosen.size * Math.max(1, texts.length) * knobbed.seeds,
      tokens = runs * knobbed.max_tokens;
    const fault = !chosen.size
      ? "Choose at least one method."
      : texts.length > limits.prompts
        ? `At most ${limits.prompts} prompts at once, not ${texts.length}.`
        : tokens > limits.in_all
          ? `${several(runs, "run")} of ${knobbed.max_tokens} tokens are ${formatNumber(tokens)} ` +
            `tokens; this page takes ${formatNumber(limits.in_all)} at once. Choose fewer methods, ` +
            "seeds or tokens."
          : "";
    /** @type {Record<string, any>} */
    const comparison = {
      methods: methods.map((method) => method.name).filter((name) => chosen.has(name)),
      prompts: texts.length ? texts : [""],
      ...knobbed,
      runs,
      fault,
    };
    return comparison;
  }
  function plan() {
    const { methods: names, prompts: texts, seeds, max_tokens, runs, fault, ...others } = asked(),
      drawn = stagesInWords(others);
    return (
      fault ||
      `${several(names.length, "method")} × ${several(texts.length, "prompt")} × ` +
        `${several(seeds, "seed")}: ${several(runs, "run")} of at most ${several(max_tokens, "token")}` +
        `${drawn && `, drawn with ${drawn}`}.`
    );
  }
  const report = () => doors.changed(plan(), asked().fault);
  find(".setup").addEventListener("input", report);
  on("example", (example) => {
    kept = prompts.value = "";
    const { usual, high } = KNOBS.max_tokens;
    fields.set({ max_tokens: Math.min(high, example.max_tokens || usual) });
    from("run");
  });
  on("view", () => show());

  // -- kept in links ----------------------------------------------------------------------------------
  /** What a link holds of all this. */
  const settings = () => ({
    methods: [...chosen],
    ...values(),
    ...(source === "own" ? { prompts: prompts.value } : source === "example" ? { whose: source } : {}),
  });
  /** Set it as a link says; what it does not say stays. */
  function apply(held) {
    fields.set(
      Object.fromEntries(Object.entries(held).filter(([name, value]) => KNOBS[name] && Number.isFinite(value))),
    );
    stages.choose(held);
    named = held.methods ?? named; // the list of methods may come later
    if (named && methods.length) pick(named);
    if (typeof held.prompts === "string") {
      kept = held.prompts;
      source = "run";
      from("own");
    } else if (held.whose) from(held.whose);
    report();
  }
  from("run");
  return {
    load,
    asked,
    plan,
    settings,
    apply,
    fieldFault: fields.fault,
    loaded: () => methods.length > 0,
    about: (name) => methods.find((method) => method.name === name),
  };
}
