/* What a run comes to: in come its step records, out come its numbers. */

(() => {
  const spoken = (steps) => steps.filter((step) => !step.token.end);

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
            ? wb.number(Math.round(value))
            : "> 10⁶";

  /** The numbers over the strip as [value, name, what it means, a quieter detail]. */
  function totals(steps, rate) {
    if (!steps.length) return [];
    const said = spoken(steps),
      forced = said.filter((step) => step.forced),
      free = said.filter((step) => !step.forced);
    const taken = steps.reduce((sum, step) => sum + (step.m ?? Infinity), 0);
    const told = [
      [
        wb.number(said.length),
        said.length === 1 ? "token" : "tokens",
        "Tokens of the text, the end token left out",
        forced.length ? `${wb.number(forced.length)} forced` : "",
      ],
      [
        amount(perplexity(said)),
        "perplexity",
        "2 to the mean surprisal of the tokens, before any mask: 1 means that the model expected every token. Forced tokens are those where a single token was allowed, free tokens all others",
        forced.length && free.length ? `${amount(perplexity(free))} free · ${amount(perplexity(forced))} forced` : "",
      ],
      [
        Number.isFinite(taken) ? taken.toFixed(1) : "∞",
        "bits removed by the mask",
        "Σ −log₂ of the probability of the allowed tokens: 0 where the mask forbids nothing the model wants",
        "",
      ],
    ];
    if (rate) told.push([wb.number(Math.round(rate)), "tokens/s", "With the model and the mask together", ""]);
    return told;
  }

  wb.totals = totals;
})();
