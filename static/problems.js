/* Problems: what is wrong with a grammar, what will hardly do what was meant, what is good to know. */

(() => {
  const { el } = wb;
  const SIGNS = { error: ["✗", "no"], warning: ["▲", "warn"], note: ["•", "quiet"] };
  const SHOWN = 60;

  const short = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);

  /** The button that puts a fix in the place of what was written. */
  function fixed(problem) {
    if (problem.fix === null || problem.fix === undefined) return "";
    const told = problem.fix ? `write ${short(problem.fix)}` : "delete it";
    return el(
      "button",
      {
        type: "button",
        class: "link fix",
        title: problem.fix ? `Write ${problem.fix} here` : "Delete this piece",
        onclick: () => wb.emit("mend", problem),
      },
      told,
    );
  }

  function row(problem) {
    const [sign, colour] = SIGNS[problem.severity] ?? SIGNS.error;
    const what = el(
      "span",
      { class: "what" },
      el(
        "button",
        { type: "button", class: "link said", title: "Go to the place", onclick: () => wb.emit("place", problem) },
        el("b", { class: `word ${colour}` }, problem.severity),
        ` ${problem.message}`,
      ),
    );
    if (problem.hint && (problem.fix ?? null) === null) what.append(el("span", { class: "hint" }, problem.hint));
    return el(
      "li",
      { class: `row ${problem.severity}` },
      el("span", { class: `sign ${colour}`, "aria-hidden": "true" }, sign),
      el("span", { class: "at" }, problem.line ? `${problem.line}:${problem.column}` : "—"),
      what,
      fixed(problem),
    );
  }

  const said = (kind, ...what) =>
    el(
      "li",
      { class: `row ${kind}` },
      el("span", { class: "sign" }),
      el("span", { class: "at" }, "—"),
      el("span", { class: "what" }, ...what),
    );

  /** The list in ``box``; ``counted`` is told how many there are, and how bad the worst is. */
  wb.problemList = (box, counted) => ({
    show({ problems, looks, inside, failure, searched, looking, empty }) {
      const rows = problems.slice(0, SHOWN).map(row);
      if (problems.length > SHOWN) rows.push(said("quiet", `${problems.length - SHOWN} more`));
      if (looks) {
        const change = el(
          "button",
          {
            type: "button",
            class: "link fix switch",
            onclick: () => {
              wb.emit("switch", looks);
              wb.emit("focus editor");
            },
          },
          `switch to ${wb.notations[looks].label}`,
        );
        const hint = said("", `this looks like ${wb.notations[looks].one}`);
        hint.append(change);
        rows.unshift(hint);
      }
      if (inside) {
        const hint = said(
          "",
          "this describes a tool; the schema of its arguments stands under ",
          el("code", {}, inside.pointer),
        );
        hint.append(
          el(
            "button",
            {
              type: "button",
              class: "link fix",
              title: "Put the schema in the place of the whole text",
              onclick: () => wb.emit("rewrite", { text: inside.text }),
            },
            "take that part",
          ),
        );
        rows.unshift(hint);
      }
      if (failure) rows.push(said("no", failure));
      if (!rows.length && !empty)
        rows.push(
          el(
            "li",
            { class: "row none" },
            looking
              ? el("span", { class: "quiet" }, "looking for what could be mended…")
              : el("span", {}, el("span", { class: "good" }, "✓"), " nothing to mend"),
          ),
        );
      const bounds = problems.filter((problem) => problem.fix);
      if (bounds.length > 1)
        rows.push(
          el(
            "li",
            { class: "row none all" },
            el(
              "button",
              { type: "button", class: "link fix", onclick: () => wb.emit("mend all", bounds) },
              `write all ${bounds.length} of them`,
            ),
          ),
        );
      if (searched && !looking) rows.push(el("li", { class: "row none quiet" }, searched));
      box.replaceChildren(...rows);
      wb.grid(box);
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
})();
