/* One run, three machines: three strips that go with the run at once, each around where it stands. */
"use strict";
wb.together = (box, server, { open, pick, edge }) => {
  const { el, state } = wb;
  const TITLES = { characters: "Characters", rules: "Rules", tokens: "Tokens", stack: "Stack machine" };
  const SAYS = {
    characters: "one edge a character", rules: "one machine a rule, calls as boxes",
    tokens: "one edge for the tokens between two states", stack: "what is read, over what goes on and off the stack",
  };
  let panes = [], current = [null, false], made = "";

  /** Which three: of a grammar that nests, its rules stand where it has no character automaton. */
  function machines() {
    const missing = state.compiled?.tabs || {};
    return [missing.characters ? "rules" : "characters", "tokens", missing.stack ? "" : "stack"].filter(Boolean);
  }

  function build(names) {
    panes = names.map((name) => {
      const at = el("span", { class: "at", "aria-live": "off" });
      const pic = el("div", { class: "pic strip", tabindex: "0", role: "group", "aria-label": `${TITLES[name]}, around where the run stands. Arrow keys move it, comma and full stop go from state to state.` });
      const button = el("button", { type: "button", class: "bare", title: `${TITLES[name]} alone`, onclick: () => open(name) }, "Open", el("span", { class: "sr" }, " " + TITLES[name]));
      const pane = el("section", { class: "pane" }, el("header", {}, el("h3", {}, TITLES[name]), el("span", { class: "says" }, SAYS[name]), at, button), pic);
      const machine = wb.machine(pic, server, { small: true, picked: (id) => pick(id, machine.record, name), edge: (one) => one && edge(one, machine.record, pic, name), shown: tell });
      return { name, pane, at, machine };
    });
    box.replaceChildren(...panes.map((each) => each.pane));
    made = names.join();
  }

  /** Where each machine stands, in words beside its name. */
  function tell() {
    for (const { machine, at } of panes) {
      const { standing, path } = wb.passed(machine.record, ...current);
      const last = path.length ? path[path.length - 1][0] : "";
      const name = (id) => machine.record.states.find((one) => one.id === id)?.label || id;
      at.replaceChildren(...(standing.length ? [el("b", {}, name(standing[0])), last && last !== standing[0] ? " → " + name(last) : "", standing.length > 1 ? ` and ${standing.length - 1} more` : ""] : []));
    }
  }

  return {
    /** Draw the three of the grammar as it is compiled now. */
    async draw() {
      const names = machines();
      if (made !== names.join()) build(names);
      await Promise.all(panes.map(({ name, machine }) => machine.open(name)));
      tell();
    },
    go(step, atEnd) {
      current = [step, atEnd];
      for (const { machine } of panes) machine.go(step, atEnd);
      tell();
    },
    expect(step, atEnd) { for (const { machine } of panes) machine.expect(step, atEnd); },
    stale(on) { for (const { machine } of panes) machine.stale(on); },
    say(text) { build(["rules"]); panes[0].machine.say(text); made = ""; },
    records: () => panes.map(({ machine }) => machine.record),
  };
};
