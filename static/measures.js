/* What a run is measured by: the scales tokens are coloured by, the numbers of a run, and the alarm for cycles. All are
   computed from step records. */

import { createButton, el } from "./dom.js";
import { formatBits, formatNumber, formatPercent } from "./tokens.js";

/** @import { Step } from "./wire" */

/* Scales: fixed bins, so that two runs can be compared, and the legend of each. */
/** The bin of a value: how many of the edges it has reached. */
const among = (edges, value) => edges.filter((edge) => value >= edge).length;
const total = (step) => (step.ms ? (step.ms.model || 0) + (step.ms.mask || 0) + (step.ms.advance || 0) : 0);
const milliseconds = (ms) => `${ms < 10 ? ms.toFixed(1) : formatNumber(Math.round(ms))} ms`;
const rule = (step) => step.rules?.[step.rules.length - 1] ?? "";
const MOST_RULES = 7; // of more, the rest share the last colour

/* A scale: its name, the bin of a step (0 is the page's own colour), what each bin means, the value in words. */
const SCALES = {
  surprisal: {
    name: "surprisal",
    unit: "bits",
    means: "−log₂ of the probability the model gave the token, before the mask",
    bin: (step) => (step.s === null ? 7 : Math.min(7, Math.floor(step.s))),
    bins: ["0", "1", "2", "3", "4", "5", "6", "7+"],
    words: (step) => `surprisal ${formatBits(step.s)} bits`,
  },
  kept: {
    name: "kept mass",
    unit: "of the probability",
    means: "the share of the model's probability that is on allowed tokens",
    bin: (step) => 7 - among([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99], step.kept),
    bins: ["99 %+", "90", "75", "50", "25", "10", "2", "less"],
    words: (step) => `the mask kept ${formatPercent(step.kept)}`,
  },
  rank: {
    name: "rank",
    unit: "among all tokens",
    means: "1 is the model's most likely token",
    bin: (step) => among([2, 3, 4, 6, 11, 51, 501], step.rank ?? Infinity),
    bins: ["1", "2", "3", "4", "6", "11", "51", "501+"],
    words: (step) => (step.rank ? `rank ${formatNumber(step.rank)}` : "rank unknown"),
  },
  latency: {
    name: "latency",
    unit: "ms",
    means: "the model, the mask and the step of the constraint together",
    bin: (step) => among([1, 2, 5, 10, 20, 50, 200], total(step)),
    bins: ["0", "1", "2", "5", "10", "20", "50", "200+"],
    words: (step) => (step.ms ? milliseconds(total(step)) : "time unknown"),
  },
  rule: {
    name: "rule",
    unit: "",
    means: "the innermost rule that reads the token",
    words: (step) => (rule(step) ? `in rule ${rule(step)}` : "in no rule"),
  },
};

/** The rules of a run in order of appearance; each has the colour of its number. */
const rulesOf = (steps) => [...new Set(steps.map(rule).filter(Boolean))];
const colourOfRule = (names, name) => (name ? `r${Math.min(MOST_RULES, names.indexOf(name) + 1)}` : "b0");

/** The legend of a shade: every bin with what it means, so that no colour speaks alone. */
function legend(key, steps) {
  const shade = SCALES[key];
  if (key !== "rule") {
    const cells = shade.bins.map((label, bin) => el("i", { class: `b${bin}` }, label));
    return el(
      "span.scale",
      { role: "img", "aria-label": `${shade.name}, bins from ${shade.bins.join(", ")} ${shade.unit}` },
      ...cells,
      el("span.unit", shade.unit),
    );
  }
  const names = rulesOf(steps);
  if (!names.length) return el("span.scale", el("span.unit", "a regex has no rules"));
  const cells = names
    .slice(0, MOST_RULES)
    .map((name, index) => el("i", { class: `r${index + 1}` }, `${index + 1} ${name}`));
  return el(
    "span.scale.rules",
    ...cells,
    names.length > MOST_RULES ? el("span.unit", `and ${names.length - MOST_RULES} more, as the last`) : null,
  );
}

export const shades = { all: SCALES, legend, rule, rulesOf, colourOfRule, total, milliseconds };

/* The numbers of a run. */

export const spoken = (steps) => steps.filter((step) => !step.token.end);

/** 2 to the mean surprisal, the end token left out; null where there is no token. */
function perplexity(steps) {
  const said = spoken(steps);
  if (!said.length) return null;
  return 2 ** (said.reduce((sum, step) => sum + (step.s ?? Infinity), 0) / said.length);
}
const MOST = 1e6; // a larger perplexity says no more
const amount = (value) =>
  value === null
    ? "—"
    : !Number.isFinite(value)
      ? "∞"
      : value < 100
        ? value.toFixed(2)
        : value <= MOST
          ? formatNumber(Math.round(value))
          : "> 10⁶";

/** The numbers over the strip as [value, name, what it means, a quieter detail].
    @param {Step[]} steps @param {number} [rate] */
export function runTotals(steps, rate) {
  if (!steps.length) return [];
  const said = spoken(steps),
    forced = said.filter((step) => step.forced),
    free = said.filter((step) => !step.forced);
  const taken = steps.reduce((sum, step) => sum + (step.m ?? Infinity), 0);
  const numbers = [
    [
      formatNumber(said.length),
      said.length === 1 ? "token" : "tokens",
      "Tokens of the text, the end token left out",
      forced.length ? `${formatNumber(forced.length)} forced` : "",
    ],
    [
      amount(perplexity(said)),
      "perplexity",
      "2 to the power of the mean surprisal of the tokens, before any mask: 1 means that the model expected " +
        "every token. Forced tokens are those where a single token was allowed, free tokens all others",
      forced.length && free.length ? `${amount(perplexity(free))} free · ${amount(perplexity(forced))} forced` : "",
    ],
    [
      Number.isFinite(taken) ? taken.toFixed(1) : "∞",
      "bits removed by the mask",
      "Σ −log₂ of the probability of the allowed tokens: 0 where the mask forbids nothing the model wants",
      "",
    ],
  ];
  const drafted = steps.filter((step) => step.draft),
    right = drafted.filter((step) => step.draft?.id === step.id);
  if (drafted.length)
    numbers.push([
      `${formatNumber(right.length)} of ${formatNumber(drafted.length)}`,
      "drafted tokens taken",
      "Tokens that the draft model proposed and the model checked. Proposals after one that was not taken are not " +
        "counted, and forced tokens need no proposal",
      "",
    ]);
  if (rate) numbers.push([formatNumber(Math.round(rate)), "tokens/s", "With the model and the mask together", ""]);
  return numbers;
}

/* The alarm: stretches in which a run repeats itself, each with a reason. A step's `loop` names the cycle of the
   machine that the run does not leave there; null where it is in none. */

const LOW = 8,
  BITS = 2; // tokens in one cycle, while the mask removes this many bits of each
const SAME = 12; // tokens in a row of white space, of digits, or of one repeated text
const TIMES = 4;

const textOf = (step) => (step.token.end ? null : (step.token.text ?? null));
/** @type {[RegExp, string][]} */
const KINDS = [
  [/^\s+$/, "white space"],
  [/^[0-9]+$/, "digits"],
];
const kindOf = (step) => {
  const text = textOf(step);
  return text === null ? "" : (KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? "");
};

/** Stretches of at least `least` steps that have the same key (falsy keys belong to none). */
function stretches(steps, least, key) {
  const found = [];
  let from = 0;
  for (let i = 1; i <= steps.length; i++) {
    if (i < steps.length && key(steps[i]) === key(steps[from])) continue;
    if (i - from >= least && key(steps[from])) found.push({ from, to: i - 1 });
    from = i;
  }
  return found;
}

/** A text of a few tokens said over and over up to the end of the steps looked at. */
function repeated(steps) {
  const found = [];
  for (let from = 0; from + SAME <= steps.length; from++) {
    for (let period = 1; period <= 6; period++) {
      let to = from + period;
      while (to < steps.length && steps[to].id === steps[to - period].id && textOf(steps[to]) !== null) to++;
      if (to - from >= Math.max(SAME, TIMES * period)) {
        found.push({ from, to: to - 1, period });
        from = to - 1;
        break;
      }
    }
  }
  return found;
}

/** The innermost rule that reads all of these steps; "" for a regex, and where none is known. */
function sharedRule(steps) {
  const [first = [], ...others] = spoken(steps).map((step) => step.rules ?? []);
  let depth = 0;
  while (depth < first.length && others.every((rules) => rules[depth] === first[depth])) depth++;
  return first[depth - 1] ?? "";
}

/** The cycle that a run does not leave at any of these steps; null without one. */
const sharedLoop = (steps) => (steps.every((step) => step.loop === steps[0].loop) ? (steps[0].loop ?? null) : null);

/** Where a run repeats itself: [{from, to, why, rule, loops}], first come first. */
function traps(steps) {
  const found = [];
  const covered = (one) => found.some((other) => one.from <= other.to && other.from <= one.to);
  const add = (one, why) => {
    if (covered(one)) return;
    // the first token of a kind may come before the cycle
    const enters = sharedLoop(steps.slice(one.from + 1, one.to + 1)) !== null && steps[one.from].loop == null;
    const from = enters ? one.from + 1 : one.from;
    const inside = steps.slice(from, one.to + 1);
    found.push({ ...one, from, why: why(inside), rule: sharedRule(inside), loops: sharedLoop(inside) !== null });
  };
  for (const one of stretches(steps, SAME, kindOf))
    add(one, (inside) => `${inside.length} tokens of ${kindOf(inside[0])}`);
  for (const one of stretches(steps, LOW, (step) =>
    step.loop === null || step.loop === undefined ? "" : `loop ${step.loop}`,
  )) {
    const inside = steps.slice(one.from, one.to + 1),
      taken = inside.reduce((sum, step) => sum + (step.m ?? 20), 0) / inside.length;
    if (taken >= BITS)
      add(
        one,
        () => `${inside.length} tokens while the mask kept ${formatPercent(2 ** -taken)} of the model's probability`,
      );
  }
  for (const one of repeated(steps))
    add(one, () => `the same ${one.period === 1 ? "token" : `${one.period} tokens`} repeated`);
  return found.sort((a, b) => a.from - b.from);
}

/** The rule whose text holds a place of a grammar; "" for a regex. */
function ruleAt(text, start) {
  const before = [...text].slice(0, start).join("");
  return [...before.matchAll(/([A-Za-z_][\w-]*)\s*::?=/g)].pop()?.[1] ?? "";
}

const BOUND = /\{\d+,\d+\}|~ ?\d+\.\.\d+/; // a repetition with an end

/** A bound that ends the repetition: a problem with such a fix, in the rule or the part that reads all its tokens. */
function bound(trap, steps, compiled) {
  if (!trap.loops) return null;
  const inside = spoken(steps.slice(trap.from, trap.to + 1));
  const reads = (problem, step) =>
    (step.read_in ?? []).some((part) => problem.start <= part.start && part.end <= problem.end);
  return (
    (compiled?.problems ?? []).find((problem) => {
      if (!BOUND.test(problem.fix ?? "")) return false;
      const rule = ruleAt(compiled.text, problem.start);
      return rule ? rule === trap.rule : !trap.rule && inside.every((step) => reads(problem, step));
    }) ?? null
  );
}

/** The lines of the alarm. `doors.go(index)`, `doors.mend(problem)`; without the latter there is no button. */
function lines(found, steps, compiled, doors) {
  return found.slice(0, 3).map((trap) => {
    const fix = doors.mend ? bound(trap, steps, compiled) : null;
    const line = el(
      "span.trapline",
      el("span.sign", { "aria-hidden": "true" }, "⚠"),
      createButton(
        `tokens ${trap.from + 1} to ${trap.to + 1}`,
        { class: "link warn", title: "Go to where it begins" },
        () => doors.go(trap.from),
      ),
      `${trap.loops ? " repeat" : ""}${trap.rule ? " in rule " : ""}`,
      trap.rule ? el("code", trap.rule) : "",
      `: ${trap.why}`,
    );
    if (fix)
      line.append(
        " ",
        createButton(
          `write ${fix.fix.length > 28 ? `${fix.fix.slice(0, 27)}…` : fix.fix}`,
          { class: "link mend", title: fix.message },
          () => doors.mend(fix),
        ),
      );
    return line;
  });
}

export const loopAlarm = { traps, bound, ruleAt, lines };
