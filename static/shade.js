/* What a token can be coloured by: fixed bins, so that two runs compare, and the legend of each.
   In come step records; nothing here asks a server. */

(() => {
  const { el } = wb;

  /** The bin of a value: how many of the edges it has reached. */
  const among = (edges, value) => edges.filter((edge) => value >= edge).length;
  const total = (step) => (step.ms ? (step.ms.model || 0) + (step.ms.mask || 0) + (step.ms.advance || 0) : 0);
  const milliseconds = (ms) => `${ms < 10 ? ms.toFixed(1) : wb.number(Math.round(ms))} ms`;
  const rule = (step) => step.rules?.[step.rules.length - 1] ?? "";
  const MOST_RULES = 7; // of more, the rest share the last colour

  /* A shade: its name, the bin of a step (0 is the page's own colour), what each bin means, the value in words. */
  const shades = {
    surprisal: {
      name: "surprisal",
      unit: "bits",
      means: "−log₂ of the probability the model gave the token, before the mask",
      bin: (step) => (step.s === null ? 7 : Math.min(7, Math.floor(step.s))),
      bins: ["0", "1", "2", "3", "4", "5", "6", "7+"],
      words: (step) => `surprisal ${wb.bits(step.s)} bits`,
    },
    kept: {
      name: "kept mass",
      unit: "of the probability",
      means: "the share of the model's probability that is on allowed tokens",
      bin: (step) => 7 - among([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99], step.kept),
      bins: ["99 %+", "90", "75", "50", "25", "10", "2", "less"],
      words: (step) => `the mask kept ${wb.percent(step.kept)}`,
    },
    rank: {
      name: "rank",
      unit: "among all tokens",
      means: "1 is the model's most likely token",
      bin: (step) => among([2, 3, 4, 6, 11, 51, 501], step.rank ?? Infinity),
      bins: ["1", "2", "3", "4", "6", "11", "51", "501+"],
      words: (step) => (step.rank ? `rank ${wb.number(step.rank)}` : "rank unknown"),
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

  /** The rules of a run in the order they are met; each has the colour of its number. */
  const rulesOf = (steps) => [...new Set(steps.map(rule).filter(Boolean))];
  const colourOfRule = (names, name) => (name ? `r${Math.min(MOST_RULES, names.indexOf(name) + 1)}` : "b0");

  /** The legend of a shade: every bin with what it means, so that no colour speaks alone. */
  function legend(key, steps) {
    const shade = shades[key];
    if (key !== "rule") {
      const cells = shade.bins.map((label, bin) => el("i", { class: `b${bin}` }, label));
      return el(
        "span",
        {
          class: "scale",
          role: "img",
          "aria-label": `${shade.name}, bins from ${shade.bins.join(", ")} ${shade.unit}`,
        },
        ...cells,
        el("span", { class: "unit" }, shade.unit),
      );
    }
    const names = rulesOf(steps);
    if (!names.length) return el("span", { class: "scale" }, el("span", { class: "unit" }, "a regex has no rules"));
    const cells = names
      .slice(0, MOST_RULES)
      .map((name, index) => el("i", { class: `r${index + 1}` }, `${index + 1} ${name}`));
    return el(
      "span",
      { class: "scale rules" },
      ...cells,
      names.length > MOST_RULES
        ? el("span", { class: "unit" }, `and ${names.length - MOST_RULES} more, as the last`)
        : null,
    );
  }

  wb.shades = { all: shades, legend, rule, rulesOf, colourOfRule, total, milliseconds };
})();
