/* The grammar card: editor, problems, facts, texts to try, prompt. */
"use strict";
wb.parts.grammar = ({ element, server }) => {
  const { el, state } = wb;
  const find = (selector) => element.querySelector(selector);
  const facts = find(".facts"), verdict = find(".verdict"), problems = find(".problems");
  const tests = find(".tests"), add = find(".addtest"), note = find(".note"), prompt = find("textarea.prompt");
  let request = 0, checking = 0, results = new Map();

  const editor = wb.editor(find(".editor"), (text) => {
    state.text = text;
    state.pending = true;
    verdict.replaceChildren();
    wb.emit("typed");
    compileSoon();
  });

  /** The example's name while its text is untouched: some are drawn over tokens of their own. */
  const exampleNow = () => (state.example && state.example.notation === state.notation && state.example.text.trimEnd() === state.text.trimEnd() ? state.example.name : "");

  async function compile() {
    const mine = ++request;
    const asked = { text: state.text, notation: state.notation, start: state.start, example: exampleNow() };
    note.hidden = !note.textContent || !asked.example; // it speaks of the example as it came
    wb.emit("compiling");
    let answer = await wb.ask(server.compile_grammar, asked);
    if (answer.fault) answer = { ok: false, facts: [], problems: [], failure: answer.fault };
    if (mine !== request) return; // something newer was typed meanwhile
    state.pending = false;
    state.compiled = { ...asked, ...answer };
    editor.problems(answer.problems);
    showFacts(answer);
    showProblems(answer);
    results = new Map();
    if (answer.ok) check(); else showTests();
    wb.emit("compiled", state.compiled);
  }
  const compileSoon = wb.debounce(250, compile);

  function showFacts(answer) {
    facts.replaceChildren(...answer.facts.map((fact) => el("span", {}, fact)));
    if (answer.ok) {
      verdict.className = "verdict good";
      verdict.textContent = "✓ " + (answer.ms < 10 ? answer.ms.toFixed(1) : Math.round(answer.ms)) + " ms";
      verdict.title = answer.phases.map((phase) => `${phase.name} ${phase.ms.toFixed(1)} ms`).join(" · ");
    } else {
      verdict.className = "verdict no";
      verdict.textContent = answer.empty ? "" : "✗ " + (answer.problems.length === 1 || !answer.problems.length ? "1 problem" : answer.problems.length + " problems");
      verdict.title = "";
    }
  }

  /** Put what is advised in the place of what was written. */
  function mend(problem) {
    const points = [...state.text];
    const mended = points.slice(0, problem.start).join("") + problem.fix + points.slice(problem.end).join("");
    editor.replace(mended);
  }

  const TITLES = { regex: "Regex", kbnf: "KBNF" };
  const NOTATIONS = { regex: "a regex", kbnf: "a KBNF grammar" };
  const SHOWN = 4; // pieces of advice; errors are all shown

  function showProblems(answer) {
    const errors = answer.problems.filter((problem) => problem.severity === "error");
    const advice = answer.problems.filter((problem) => problem.severity !== "error");
    const rows = [...errors, ...advice.slice(0, SHOWN)].map((problem) => {
      const what = el("span", { class: "what" }, el("button", { class: "link " + (problem.severity === "error" ? "no" : "warn"), title: "Go to the place", onclick: () => editor.jump(problem) }, problem.message));
      if (problem.hint && !problem.fix) what.append(el("span", { class: "hint" }, problem.hint));
      const fix = problem.fix ? el("button", { class: "link fix", title: `Write ${problem.fix} here`, onclick: () => mend(problem) }, "write " + (problem.fix.length > 24 ? problem.fix.slice(0, 23) + "…" : problem.fix)) : "";
      return el("li", { class: "row" }, el("span", { class: "at" }, problem.line ? `${problem.line}:${problem.column}` : "—"), what, fix);
    });
    if (advice.length > SHOWN) rows.push(el("li", { class: "row quiet" }, el("span", { class: "at" }, "…"), el("span", { class: "what" }, `${advice.length - SHOWN} more of this kind`)));
    if (answer.looks) rows.unshift(el("li", { class: "row" }, el("span", { class: "at" }, "—"), el("span", { class: "what" }, `this looks like ${NOTATIONS[answer.looks]}`), el("button", { class: "link fix switch", onclick: () => { wb.emit("switch", answer.looks); editor.area.focus(); } }, "switch to " + TITLES[answer.looks])));
    if (answer.failure) rows.push(el("li", { class: "row no" }, el("span", { class: "at" }, "—"), el("span", { class: "what" }, answer.failure)));
    problems.replaceChildren(...rows);
    problems.hidden = !rows.length;
  }

  async function check() {
    const mine = ++checking;
    const texts = [...state.tests];
    const answer = await wb.ask(server.check_texts, { text: state.text, notation: state.notation, start: state.start, texts });
    if (mine !== checking || !answer.results) return;
    results = new Map(answer.results.map((result) => [result.text, result]));
    showTests();
  }

  function told(result) {
    const said = el("span", { class: "why" });
    if (result.accepted) return null;
    said.append(result.at_end ? "not finished; expected " : `column ${result.column}: expected `, el("b", {}, result.expected || "nothing more"));
    return said;
  }

  function body(text, result) {
    const say = el("button", { class: "say", title: "Edit" });
    if (!text) say.append(el("span", { class: "quiet" }, "the empty text"));
    else if (result && !result.accepted && !result.at_end) {
      const points = [...text];
      const bad = el("span", { class: "squig" });
      bad.append(wb.visible(points[result.offset]));
      say.append(wb.visible(points.slice(0, result.offset).join("")), bad, wb.visible(points.slice(result.offset + 1).join("")));
    } else {
      say.append(wb.visible(text));
      if (result && !result.accepted) say.append(el("span", { class: "squig void" }));
    }
    return say;
  }

  function showTests() {
    tests.replaceChildren(...state.tests.map((text, index) => {
      const result = results.get(text);
      const sign = !result ? el("span", { class: "quiet", title: "not tried" }, "·") : result.accepted ? el("span", { class: "good", title: "accepted" }, "✓") : el("span", { class: "no", title: "rejected" }, "✗");
      if (result) sign.append(el("span", { class: "sr" }, result.accepted ? " accepted: " : " rejected: "));
      const say = body(text, result);
      say.addEventListener("click", () => edit(say, index));
      const drop = el("button", { class: "bare drop", "aria-label": "Remove this text", title: "Remove", onclick: () => { state.tests.splice(index, 1); showTests(); } }, "×");
      return el("li", {}, sign, el("div", { class: "body" }, say, result ? told(result) : null), drop);
    }));
  }

  function edit(say, index) {
    const area = el("textarea", { rows: 1, "aria-label": "Text to try", spellcheck: "false" });
    area.value = state.tests[index];
    let open = true;
    const close = (keep) => {
      if (!open) return;
      open = false;
      if (keep) state.tests[index] = area.value;
      results.delete(keep ? "" : null);
      showTests();
      if (keep && state.compiled?.ok) check();
    };
    area.addEventListener("blur", () => close(true));
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey) { event.preventDefault(); close(true); }
      if (event.key === "Escape") { event.stopPropagation(); close(false); }
    });
    say.parentNode.replaceChildren(area);
    area.focus();
  }

  add.addEventListener("submit", (event) => {
    event.preventDefault();
    const input = add.querySelector("input");
    state.tests.push(input.value);
    input.value = "";
    showTests();
    if (state.compiled?.ok) check();
  });
  prompt.addEventListener("input", () => { state.prompt = prompt.value; });
  problems.hidden = true;

  wb.on("example", (example) => {
    const text = example.text.replace(/\n$/, "");
    Object.assign(state, { text, notation: example.notation, start: example.start, prompt: example.prompt, tests: example.tests || [...example.accepts.slice(0, 3), ...example.rejects.slice(0, 2)] });
    note.textContent = example.note;
    note.hidden = !example.note;
    prompt.value = example.prompt;
    editor.set(text, example.notation);
    results = new Map();
    showTests();
    compileSoon.now();
  });
  wb.on("notation", (notation) => {
    state.notation = notation;
    note.hidden = true;
    editor.notation(notation);
    compileSoon.now();
  });
  wb.on("compile now", () => compileSoon.now());
  wb.on("focus editor", (how) => { editor.area.focus(); if (how?.select) editor.area.select(); });
  wb.on("rewrite", ({ text }) => { editor.replace(text); compileSoon.now(); });
  wb.on("live rules", (names) => editor.live(names));
};
