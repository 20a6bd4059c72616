/* The inspector: everything known about one token; what the model wanted beside what it may say. */
(() => {
  "use strict";
  const { el } = wb;

  function inspector(box, fork, explain) {
    const [facts, wanted, may] = box.children;

    function row(candidate, probability, scale, options) {
      const { struck, taken, act } = options;
      const bar = el("span", { class: "b" + (struck ? " x" : "") });
      bar.style.width = Math.max(0.4, 100 * probability / scale) + "%";
      const cells = [el("code", { title: wb.glyphs(candidate) }, wb.glyphs(candidate)), el("span", {}, bar), el("span", { class: "n" }, wb.percent(probability))];
      const name = "cand" + (struck ? " x" : "") + (taken ? " taken" : "");
      if (options.words !== undefined) cells.push(el("span", { class: "w" }, options.words));
      if (!act) return el("li", { class: name }, ...cells);
      return el("li", {}, el("button", { class: name, title: "Go on from here with this token", onclick: act }, ...cells));
    }

    function facts_of(step, index) {
      const pairs = [
        ["probability", wb.percent(step.p)], ["surprisal", wb.bits(step.s) + " bits"], ["rank before mask", step.rank ? wb.number(step.rank) : "—"],
        ["mask let through", wb.percent(step.kept)], ["allowed tokens", wb.number(step.allowed)], ["state", step.state],
      ];
      const list = el("dl");
      for (const [name, value] of pairs) list.append(el("dt", {}, name), el("dd", {}, value));
      const title = el("h2", {}, `Token ${index + 1} · `, el("code", {}, wb.glyphs(step.token)));
      facts.replaceChildren(title, list);
      if (step.rules.length) facts.append(el("div", { class: "row inrule" }, el("span", { class: "quiet" }, "in rule"), el("span", {}, ...step.rules.slice(-4).flatMap((name) => [el("span", { class: "chip" }, name), " "]))));
    }

    function show(step, index) {
      box.hidden = !step;
      if (!step) return;
      facts_of(step, index);
      const top = Math.max(...step.wanted.map((c) => c.before), 0.001), best = Math.max(...step.may.map((c) => c.after), 0.001);
      const words = (c) => (!c.ok ? "forbidden" : c.id === step.id ? "taken" : "");
      wanted.replaceChildren(el("h2", {}, "What the model wanted"), el("ul", { class: "cands" }, ...step.wanted.map((c) => row(c, c.before, top, { struck: !c.ok, taken: c.id === step.id, words: words(c) }))));
      may.replaceChildren(el("h2", {}, "What it may say"), el("ul", { class: "cands" }, ...step.may.map((c) => row(c, c.after, best, { taken: c.id === step.id, act: c.id === step.id || c.end ? null : () => fork(index, c) }))));
      const struck = [...wanted.querySelectorAll(".cand.x")];
      if (struck.length) explain(index, step.wanted.filter((c) => !c.ok), (told) => struck.forEach((row, i) => {
        if (!told[i] || !row.isConnected) return;
        row.querySelector(".w").textContent = told[i];
        row.title = told[i];
      }));
      if (step.allowed > step.may.length) may.append(el("p", { class: "quiet", style: "font-size:12px;margin-top:6px" }, `and ${wb.number(step.allowed - step.may.length)} more`));
    }
    return { show };
  }

  wb.inspector = inspector;
})();
