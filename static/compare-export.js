/* A comparison as files: a row a run for tables, every record for programs. */

wb.compareFiles = (() => {
  const FIELDS = [
    "valid",
    "proper",
    "ended",
    "stop",
    "tokens",
    "free_tokens",
    "forced_tokens",
    "perplexity",
    "perplexity_free",
    "perplexity_forced",
    "mask_bits",
    "interventions",
    "forward_passes",
    "seconds",
    "tokens_per_second",
    "compile_ms",
  ];
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const text = (run) => wb.spelt(run.steps);
  const named = () => `${wb.take.called()}.compare`;

  /** A row a run. Texts as JSON strings: white space is seen, and no table takes one for a formula. */
  function csv({ runs }) {
    const rows = runs.map((run) =>
      [
        run.method,
        JSON.stringify(run.prompt),
        run.seed,
        ...FIELDS.map((field) => run.end?.[field]),
        run.why ?? "",
        run.steps.length ? JSON.stringify(text(run)) : "",
      ]
        .map(cell)
        .join(","),
    );
    wb.download(
      `${named()}.csv`,
      "text/csv",
      `${[["method", "prompt", "seed", ...FIELDS, "error", "text"].join(","), ...rows].join("\r\n")}\r\n`,
    );
  }
  /** What was asked, then a line a run with its measures and its tokens. */
  function ndjson({ about, model, runs }) {
    const lines = runs.map(({ method, prompt, seed, end, why, steps }) => ({
      k: "run",
      method,
      prompt,
      seed,
      ...(why ? { error: why } : {}),
      ...end,
      text: text({ steps }),
      steps,
    }));
    wb.download(
      `${named()}.ndjson`,
      "application/x-ndjson",
      [{ k: "head", ...about, model }, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
  }
  return { csv, ndjson };
})();
