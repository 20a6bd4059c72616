/* What a run comes to: in come its step records, out come its numbers. */
"use strict";
(() => {
  const spoken = (steps) => steps.filter((step) => !step.token.end);

  /** 2 to the mean surprisal, the end token left out; null where there is no token. */
  function perplexity(steps) {
    const said = spoken(steps);
    if (!said.length) return null;
    return 2 ** (said.reduce((sum, step) => sum + (step.s ?? Infinity), 0) / said.length);
  }
  const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
  const amount = (value) => (value === null ? "—" : !Number.isFinite(value) ? "∞" : value < 100 ? value.toFixed(2) : value < 1e5 ? wb.number(Math.round(value)) : short.format(value));

  /** The numbers over the strip as [value, name, what it means, a quieter detail]. */
  function totals(steps, rate) {
    if (!steps.length) return [];
    const said = spoken(steps), forced = said.filter((step) => step.forced), free = said.filter((step) => !step.forced);
    const taken = steps.reduce((sum, step) => sum + (step.m ?? Infinity), 0);
    const told = [
      [wb.number(said.length), said.length === 1 ? "token" : "tokens", "Tokens of the text, the end token left out", forced.length ? `${wb.number(forced.length)} forced` : ""],
      [amount(perplexity(said)), "perplexity", "How surprised the model was, before any mask: 1 is not at all. Free tokens are those the model could choose, forced ones those where a single token was allowed", forced.length && free.length ? `${amount(perplexity(free))} free · ${amount(perplexity(forced))} forced` : ""],
      [Number.isFinite(taken) ? taken.toFixed(1) : "∞", "bits taken by the mask", "Σ −log₂ of what the mask kept: how much of what the model wanted was forbidden, over the whole text", ""],
    ];
    if (rate) told.push([wb.number(Math.round(rate)), "tokens/s", "With the model and the mask together", ""]);
    return told;
  }

  wb.totals = totals;
})();
