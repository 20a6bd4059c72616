/* The alarm: where a run goes round in circles. In come step records, out come stretches with a reason.
   A step's `loop` names the circle of the machine it does not leave (null where it stays in none). */

(() => {
  const { el } = wb;
  const LOW = 8,
    BITS = 2; // so many tokens in one circle while the mask takes so many bits of each
  const SAME = 12; // so many tokens of white space, or of digits, or of one text again and again
  const TIMES = 4;

  const textOf = (step) => (step.token.end ? null : (step.token.text ?? null));
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

  /** Where a run sits in a trap: [{from, to, why, rule}], first come first. */
  function traps(steps) {
    const found = [];
    const covered = (one) => found.some((other) => one.from <= other.to && other.from <= one.to);
    const add = (one, why) => {
      if (!covered(one)) found.push({ ...one, why, rule: wb.shades.rule(steps[one.from]) });
    };
    for (const one of stretches(steps, SAME, kindOf))
      add(one, `${one.to - one.from + 1} tokens of ${kindOf(steps[one.from])}`);
    for (const one of stretches(steps, LOW, (step) =>
      step.loop === null || step.loop === undefined ? "" : `loop ${step.loop}`,
    )) {
      const inside = steps.slice(one.from, one.to + 1),
        taken = inside.reduce((sum, step) => sum + (step.m ?? 20), 0) / inside.length;
      if (taken >= BITS)
        add(one, `${inside.length} tokens while the mask kept ${wb.percent(2 ** -taken)} of the model's probability`);
    }
    for (const one of repeated(steps))
      add(one, `the same ${one.period === 1 ? "token" : `${one.period} tokens`} repeated`);
    return found.sort((a, b) => a.from - b.from);
  }

  /** The rule whose text holds a place of a grammar; "" for a regex. */
  function ruleAt(text, start) {
    const before = [...text].slice(0, start).join("");
    return [...before.matchAll(/([A-Za-z_]\w*)\s*::?=/g)].pop()?.[1] ?? "";
  }

  /** The bound somebody could write: a problem with a fix, in the rule that was being read. */
  function bound(trap, steps, compiled) {
    const fixes = (compiled?.problems ?? []).filter((problem) => problem.fix);
    const live = new Set(steps.slice(trap.from, trap.to + 1).flatMap((step) => step.rules ?? []));
    return (
      fixes.find((problem) => {
        const rule = ruleAt(compiled.text, problem.start);
        return rule ? live.has(rule) : !live.size;
      }) ?? null
    );
  }

  /** The lines of the alarm. `doors.go(index)`, `doors.mend(problem)`; without the latter there is no button. */
  function lines(found, steps, compiled, doors) {
    return found.slice(0, 3).map((trap) => {
      const fix = doors.mend ? bound(trap, steps, compiled) : null;
      const line = el(
        "span",
        { class: "trapline" },
        el("span", { class: "sign", "aria-hidden": "true" }, "⚠"),
        el(
          "button",
          { class: "link warn", title: "Go to where it begins", onclick: () => doors.go(trap.from) },
          `tokens ${trap.from + 1} to ${trap.to + 1}`,
        ),
        ` stay in a loop${trap.rule ? " of rule " : ""}`,
        trap.rule ? el("code", {}, trap.rule) : "",
        `: ${trap.why}`,
      );
      if (fix)
        line.append(
          " ",
          el(
            "button",
            { class: "link mend", title: fix.message, onclick: () => doors.mend(fix) },
            `write ${fix.fix.length > 28 ? `${fix.fix.slice(0, 27)}…` : fix.fix}`,
          ),
        );
      return line;
    });
  }

  wb.alarm = { traps, bound, ruleAt, lines };
})();
