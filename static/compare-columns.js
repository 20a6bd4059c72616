/* The columns of a comparison: each with its head, what it means, whether more is better, and what it shows of a
   method's runs. */

import { formatNumber } from "./tokens.js";

const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const amount = (value) =>
  !Number.isFinite(value)
    ? "∞"
    : value < 10
      ? value.toFixed(2)
      : value < 100
        ? value.toFixed(1)
        : value < 1e4
          ? formatNumber(Math.round(value))
          : value > 1e6
            ? "> 10⁶"
            : short.format(value);
const mean = (value) =>
  Number.isInteger(value)
    ? formatNumber(value)
    : value < 1e4
      ? formatNumber(Math.round(10 * value) / 10)
      : short.format(value);
const times = (value) => `×${value < 10 ? value.toFixed(2) : value.toFixed(1)}`;

/** The middle and both ends of what was measured; null where nothing was. */
function spread(values) {
  const known = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  if (!known.length) return null;
  const half = known.length >> 1;
  return {
    middle: known.length % 2 ? known[half] : (known[half - 1] + known[half]) / 2,
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
    low: known[0],
    high: known[known.length - 1],
  };
}
const ends = (found, show) =>
  found && show(found.low) !== show(found.high) ? `${show(found.low)}–${show(found.high)}` : "";
/** A measure's mean over the runs, and from where to where it goes. */
function measured(key, show) {
  return (runs) => {
    const found = spread(runs.map((run) => run.end[key]));
    return found
      ? { value: found.mean, shown: show(found.mean), minor: ends(found, show) }
      : { value: null, shown: "—" };
  };
}
/** The perplexity of all tokens of all runs together: surprisals add up, perplexities do not. */
function perplexity(key, ...kinds) {
  return (runs) => {
    const parts = runs.flatMap((run) => kinds.map((kind) => run.end[kind]));
    const tokens = parts.reduce((sum, part) => sum + part.tokens, 0),
      nats = parts.reduce((sum, part) => sum + (part.nats ?? Infinity), 0);
    if (!tokens) return { value: null, shown: "—" };
    return {
      value: Math.exp(nats / tokens),
      shown: amount(Math.exp(nats / tokens)),
      minor: ends(spread(runs.map((run) => run.end[key])), amount),
    };
  };
}
/** Why texts are not valid although no rule was broken. */
const UNFINISHED = { "token budget": "cut off", "dead end": "stuck" };
/** How many of the runs are so: a share, with a sign that does without colour. What was cut off before it could be
      so is no fault of the method's. */
function share(key) {
  return (runs) => {
    const known = runs.filter((run) => run.end[key] !== null && run.end[key] !== undefined),
      yes = known.filter((run) => run.end[key]).length;
    if (!known.length) return { value: null, shown: "—" };
    const [sign, tone] = yes === known.length ? ["✓", "good"] : yes ? ["◐", "warn"] : ["✗", "no"];
    return { value: yes / known.length, shown: known.length > 1 ? `${sign} ${yes}/${known.length}` : sign, tone };
  };
}
/** The same of valid texts, with how many were never finished. */
function valid(runs) {
  const stopped = Object.entries(UNFINISHED)
    .map(([stop, words]) => [words, runs.filter((run) => !run.end.valid && run.end.stop === stop).length])
    .filter(([, count]) => count);
  const found = share("valid")(runs),
    cut = stopped.length === 1 && stopped[0][0] === "cut off" && stopped[0][1] === runs.length;
  if (cut) Object.assign(found, { shown: found.shown.replace("✗", "…"), tone: "quiet" });
  return {
    ...found,
    minor: stopped.map(([words, count]) => (runs.length > 1 ? `${count} ${words}` : words)).join(", "),
  };
}
/** Passes of the model for each token of all runs together. */
function passes(runs) {
  const sum = (key) => runs.reduce((total, run) => total + run.end[key], 0),
    value = sum("forward_passes") / Math.max(1, sum("tokens"));
  return { value, shown: value.toFixed(2), minor: `${mean(sum("forward_passes") / runs.length)} a run`, bar: value };
}
const MAX_SPREAD = 1.5, // as in compare.py
  MIN_TIMED_TOKENS = 200;
const timedTokens = (runs) => runs.reduce((sum, run) => sum + (run.end?.tokens_per_second ? run.end.tokens : 0), 0);
const rates = (runs) => spread(runs.filter((run) => run.end).map((run) => run.end.tokens_per_second));
/** The median in the three digits that are shown: the ratio of two shown rates is the shown ratio. */
const rate = (found) => Number(found.middle.toPrecision(3));
const perSecond = (value) => `${value < 100 ? Number(value.toPrecision(3)) : formatNumber(Math.round(value))}/s`;
function speed(runs, all) {
  const own = rates(runs),
    alone = all.filter((run) => run.method === "unconstrained" && run.end),
    base = rates(alone);
  if (!own) return { value: null, shown: "—" };
  const value = rate(own),
    found = {
      value,
      shown: perSecond(value),
      bar:
        value /
        Math.max(
          value,
          ...[...new Set(all.map((run) => run.method))].map(
            (name) => rates(all.filter((run) => run.method === name))?.middle ?? 0,
          ),
        ),
    };
  if (!base) return found;
  const why = noise(runs, alone, base, value);
  return why
    ? { ...found, minor: "no ratio", title: `No ratio: ${why}` }
    : { ...found, shown: times(value / rate(base)), minor: perSecond(value) };
}
/** Why a ratio of speeds would be noise; nothing where it would not. */
function noise(runs, alone, base, value) {
  if (alone.length < 2) return "one run of the model alone; use two seeds or more";
  if (base.high > MAX_SPREAD * base.low)
    return `the model alone ran at ${perSecond(base.low)} to ${perSecond(base.high)}, which is too uneven`;
  const least = Math.min(timedTokens(runs), timedTokens(alone));
  if (least < MIN_TIMED_TOKENS) return `${least} timed tokens are too few; ${MIN_TIMED_TOKENS} are needed`;
  const own = runs.filter((run) => run.end),
    sum = (key) => own.reduce((all, run) => all + run.end[key], 0);
  return value > rate(base) && sum("forward_passes") > 0.995 * sum("tokens")
    ? "the method needs as many passes of the model as the model alone, so it cannot be faster"
    : "";
}

export const COLUMNS = {
  valid: {
    head: "Valid",
    title:
      "Texts that the grammar accepts. A text cut off at the token budget is not one; a run is stuck " +
      "where the method allows no token",
    more: true,
    of: valid,
  },
  proper: {
    head: "Proper",
    title: "The tokenizer itself would have written the text in these tokens",
    more: true,
    of: share("proper"),
  },
  perplexity: {
    head: "Perplexity",
    title: "How surprised the model was, before any mask: 1 is not at all. The end token is left out",
    of: perplexity("perplexity", "free", "forced"),
  },
  free: {
    head: "free",
    title: "Perplexity of the tokens the model could choose",
    of: perplexity("perplexity_free", "free"),
  },
  forced: {
    head: "forced",
    title: "Perplexity of the tokens that were the only ones allowed",
    of: perplexity("perplexity_forced", "forced"),
  },
  bits: {
    head: "Mask bits",
    title: "Σ −log₂ of what the mask kept: how much of what the model wanted was forbidden, over the whole text",
    of: measured("mask_bits", mean),
  },
  changed: {
    head: "Interventions",
    title: "Tokens where the mask took the model's first choice away",
    of: measured("interventions", mean),
  },
  passes: {
    head: "Passes / token",
    title: "Forward passes of the model for each token: the cost that no other work on the machine changes",
    of: passes,
    cost: true,
  },
  tokens: { head: "Tokens", title: "Tokens of the text, the end token included", of: measured("tokens", mean) },
  speed: {
    head: "Speed",
    title:
      "Median tokens a second, divided by the median of the model alone. There is no ratio " +
      "where it would be noise: too few tokens, uneven runs, or a ratio above 1 without fewer passes of the model",
    more: true,
    of: speed,
    cost: true,
  },
};
