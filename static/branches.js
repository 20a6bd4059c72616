/* Runs are kept as branches: a run, what was forked or rewound from it, what was taken by hand. Chips go back to any
   of them; nothing is lost until another example is opened. No server: a branch is records and where it came from. */

(() => {
  const { el } = wb;

  const CLOSED = ["accepted", "forced end", "dead end", "model full"];
  /** A run that was refused before its first token: the next one would be refused with the same words. */
  const refused = (branch) => branch.outcome?.reason === "error" && !branch.steps.length;
  /** Whether tokens can follow. */
  const isOpen = (branch) => Boolean(branch) && !CLOSED.includes(branch.outcome?.reason) && !refused(branch);

  /** A branch as the lines of a recorded run; its head says how it was asked for. */
  function records(branch, asked) {
    const head = { k: "head", run: `branch ${branch.id}`, ...asked, ...branch.settings, prefix: [], how: branch.how };
    return [
      head,
      { k: "start", model: branch.served || branch.model || "builtin" },
      ...branch.steps,
      ...(branch.outcome ? [branch.outcome] : []),
    ];
  }

  /** The other way round: the lines of a recorded run, as a branch keeps it. */
  function read(lines) {
    const told = lines
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
      one = (kind) => told.find((each) => each.k === kind);
    const { temperature, seed, max_tokens, small_tokens } = one("head") ?? {};
    return {
      settings: { temperature, seed, max_tokens, small_tokens },
      steps: told.filter((each) => each.k === "step"),
      outcome: one("stop") ?? null,
      served: one("start")?.model,
    };
  }

  function branches(box, doors) {
    const chips = el("span", { class: "chips", role: "group", "aria-label": "Runs and branches" });
    const begin = el(
      "button",
      {
        type: "button",
        class: "bare",
        title: "A new branch at the prompt: take the tokens by hand, or step",
        onclick: () => doors.begin(),
      },
      "+ by hand",
    );
    box.replaceChildren(chips, begin);
    let kept = [],
      now = null;

    const way = (constraint) => ({ automaton: "", unconstrained: "no mask" })[constraint] ?? constraint ?? "";
    const where = (branch) =>
      branch.from
        ? `${branch.how === "rewind" ? "rewound to" : "fork at"} ${branch.at + 1}`
        : branch.how === "recorded"
          ? "recorded"
          : branch.how === "hand"
            ? "by hand"
            : (branch.method ?? way(branch.constraint));
    const title = (branch) =>
      [
        branch.small_tokens ? "small tokens" : "",
        branch.from ? `${where(branch)}, from ${branch.from}` : where(branch) || "a run",
        `${wb.number(branch.steps.length)} tokens`,
        branch.outcome?.words ?? "not ended",
        wb.key(branch) === wb.key(wb.state) ? "" : "of an earlier text of the grammar",
      ]
        .filter(Boolean)
        .join(" · ");

    function draw() {
      const held = chips.contains(document.activeElement);
      chips.replaceChildren(
        ...kept.map((branch) => {
          const chip = el(
            "button",
            {
              type: "button",
              class: `branch${wb.key(branch) === wb.key(wb.state) ? "" : " old"}`,
              "aria-pressed": String(branch === now),
              tabindex: branch === now ? "0" : "-1",
              title: title(branch),
              onclick: () => doors.open(branch),
            },
            String(branch.id),
          );
          if (where(branch)) chip.append(el("span", {}, ` ${where(branch)}`));
          return chip;
        }),
      );
      const shown = chips.querySelector("[aria-pressed=true]");
      if (held) shown?.focus();
      if (shown) wb.bring(chips, shown);
    }
    wb.roving(chips, () => {});

    /** Keep a new branch and make it the one shown. */
    function add(given) {
      const branch = {
        id: kept.length + 1,
        steps: [],
        outcome: null,
        next: null,
        from: null,
        at: 0,
        how: "run",
        ...given,
      };
      kept.push(branch);
      now = branch;
      draw();
      return branch;
    }

    return {
      add,
      /** The tokens before one of the branch that is shown, as a branch of their own. */
      cut(index, how) {
        const { id, steps, prompt, model, constraint, lookahead, small_tokens } = now;
        return add({
          how,
          from: id,
          at: index,
          steps: steps.slice(0, index),
          ...wb.grammarOf(now),
          prompt,
          model,
          constraint,
          lookahead,
          small_tokens,
        });
      },
      show(branch) {
        now = branch;
        draw();
      },
      now: () => now,
      all: () => kept,
      clear() {
        kept = [];
        now = null;
        draw();
      },
      draw,
      isOpen,
      records,
      read,
      lock(locked) {
        for (const button of box.querySelectorAll("button")) button.disabled = locked;
      },
    };
  }

  wb.branches = branches;
})();
