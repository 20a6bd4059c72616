/* Phases: how long each step from the text to the first mask took, as a bar with names. */

(() => {
  const { el } = wb;
  const TOLD = {
    read: "the text is read into a tree",
    NFA: "the tree becomes a machine with choices",
    "minimal DFA": "the smallest machine without choices",
    "first states": "the first states of a machine too large to be made at once",
    "all states": "all states of a large machine, for counting and drawing them",
    rules: "the rules are checked and gathered",
    automata: "every rule becomes an automaton",
    tokens: "grammar and vocabulary meet",
    "first mask": "which of the model's tokens may come first",
  };
  const ms = (value) => (value < 0.095 ? "< 0.1" : value < 9.95 ? value.toFixed(1) : String(Math.round(value)));

  /** Show phases, each ``{name, ms}``; nothing for none: the room stays. */
  wb.phaseBar = (box) => (phases) => {
    const all = phases.reduce((sum, phase) => sum + phase.ms, 0);
    if (!all) {
      box.replaceChildren();
      return;
    }
    const bar = el(
      "span",
      { class: "phasebar", "aria-hidden": "true" },
      ...phases.map((phase, index) => {
        const part = el("i", { class: `p${index % 6}` });
        part.style.flexGrow = String(Math.max(phase.ms / all, 0.02));
        return part;
      }),
    );
    const names = phases.map((phase, index) =>
      el(
        "span",
        { class: "phase", title: TOLD[phase.name] ?? phase.name },
        el("i", { class: `p${index % 6}`, "aria-hidden": "true" }),
        `${phase.name} `,
        el("b", {}, ms(phase.ms)),
      ),
    );
    box.replaceChildren(bar, ...names, el("span", { class: "unit" }, "ms"));
  };
})();
