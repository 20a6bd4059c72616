/* The run card: start, stop, what streams in, and which token is selected. */
"use strict";
wb.parts.run = ({ element, trigger, props, watch, server }) => {
  const { el, state } = wb;
  const find = (selector) => element.querySelector(selector);
  const go = find(".go"), halt = find(".halt"), wait = find(".wait"), fault = find(".runerr"), stats = find(".stats"), blank = find(".blank");
  const body = find(".body"), mask = find("select.mask"), key = find(".key"), aloud = find(".aloud");
  const knobs = { temperature: find("input.temperature"), seed: find("input.seed"), max_tokens: find("input.max"), };
  let run = null, read = 0, started = 0, outcome = null, held = [], firstRun = null, runNext = false, begun = 0, over = 0;

  const strip = wb.strip(find(".tokens"), find(".chart"), (index, focus) => select(index, focus));
  const inspector = wb.inspector(find(".insp"), fork, explain);

  function settings() {
    const value = (input, fallback) => (input.value.trim() === "" || Number.isNaN(Number(input.value)) ? fallback : Number(input.value));
    return { temperature: value(knobs.temperature, 0.7), seed: value(knobs.seed, 1), max_tokens: value(knobs.max_tokens, 128), constraint: mask.value };
  }

  function begin(prefix = [], keep = []) {
    if (state.running) return;
    run = "r" + Math.random().toString(36).slice(2);
    held = keep;
    reset(keep);
    state.ran = state.text;
    state.running = true;
    started = performance.now();
    begun += 1;
    busy();
    tell("waiting for the model…");
    trigger("run", { ...settings(), run, text: state.text, notation: state.notation, start: state.start, prompt: state.prompt, prefix });
  }

  function reset(keep) {
    state.steps = [...keep];
    state.selected = -1;
    read = 0;
    outcome = null;
    fault.hidden = true;
    strip.clear(keep.length);
    inspector.show(null);
    body.hidden = !keep.length;
    key.hidden = !keep.length;
    blank.hidden = true;
    numbers();
  }

  /** Ask why the struck tokens are forbidden; only of the token somebody looks at. */
  async function explain(index, tokens, show) {
    if (state.ran !== state.text || !state.compiled?.ok) return;
    const so_far = state.steps.slice(0, index).map((step) => wb.hexOf(step.token) ?? "").join("");
    const asked = { text: state.text, notation: state.notation, start: state.start, so_far, tokens: tokens.map(wb.hexOf) };
    const answer = await wb.ask(server.explain_tokens, asked);
    if (answer.reasons) show(answer.reasons);
  }

  /** Go on from before a token with another one: what is known of it was counted when the first was taken. */
  function fork(index, candidate) {
    if (state.running) return;
    const old = state.steps[index];
    const wanted = old.wanted.findIndex((c) => c.id === candidate.id);
    const p = candidate.before;
    const step = { ...old, token: candidate, id: candidate.id, p, s: p > 0 ? -Math.log2(p) : null, rank: wanted < 0 ? null : wanted + 1, path: shortened(old.path), forked: true };
    const keep = [...state.steps.slice(0, index), step];
    const prefix = keep.map((each) => each.id);
    begin(prefix, state.steps.slice(0, index));
    state.steps.push(step);
    strip.add(step, index);
    body.hidden = false; key.hidden = false;
    select(index, false);
  }
  const shortened = (path) => Object.fromEntries(Object.entries(path).map(([tab, states]) => [tab, states.slice(0, 1)]));

  function busy() {
    go.disabled = state.running || !state.compiled?.ok;
    halt.disabled = !state.running;
  }
  function tell(text) { wait.hidden = !text; wait.textContent = text || ""; }

  function stop(words) {
    if (!state.running) return;
    wb.ask(server.stop_run, { run });
    finish({ reason: "stopped", words: words || "stopped by you" });
  }

  function finish(end) {
    state.running = false;
    outcome = end;
    tell("");
    busy();
    numbers();
    if (state.steps.length && state.selected < 0) select(chosenAtEnd(), false);
    aloud.textContent = `${state.steps.length} tokens, ${end.words}`;
    wb.emit("finished", end);
  }
  /** The token worth a first look: the one where the mask took most. */
  function chosenAtEnd() {
    let best = 0;
    state.steps.forEach((step, index) => { if (!step.token.end && (step.m ?? 99) > (state.steps[best].m ?? 99) + 0.01) best = index; });
    return best;
  }

  function fail(message, hint) {
    fault.replaceChildren(el("b", {}, "The run ended: "), message + (hint ? " — " + hint : ""));
    fault.hidden = false;
    finish({ reason: "error", words: "ended by an error" });
  }

  function take(record) {
    if (record.k === "status") tell(record.text);
    if (record.k === "start") { tell(""); started = performance.now(); }
    if (record.k === "step") {
      state.steps.push(record);
      strip.add(record, state.steps.length - 1);
      body.hidden = false;
      key.hidden = false;
    }
    if (record.k === "error") fail(record.message, record.hint);
    if (record.k === "stop") { if (record.text) state.ran = record.text; finish(record); }
  }

  function arrived() {
    const value = props.value || "";
    const first = value.indexOf("\n");
    if (first < 0 || !run) return;
    let head;
    try { head = JSON.parse(value.slice(0, first)); } catch { return; }
    if (head.run !== run || (!state.running && outcome)) return;
    const before = state.steps.length;
    for (let end = value.indexOf("\n", read); end >= 0; end = value.indexOf("\n", read)) {
      const line = value.slice(read, end);
      read = end + 1;
      if (line) take(JSON.parse(line));
    }
    if (state.steps.length !== before) { numbers(); if (state.selected < 0) wb.emit("step", null); }
  }
  watch("value", arrived);

  function numbers() {
    const steps = state.steps, spoken = steps.filter((step) => !step.token.end);
    const shown = [];
    const put = (value, name, title) => shown.push(el("span", { title }, el("b", {}, value), name));
    if (steps.length) {
      const surprise = spoken.reduce((sum, step) => sum + (step.s ?? Infinity), 0);
      const ppl = 2 ** (surprise / Math.max(1, spoken.length));
      const taken = steps.reduce((sum, step) => sum + (step.m ?? Infinity), 0);
      put(wb.number(spoken.length), spoken.length === 1 ? "token" : "tokens", "Tokens generated, the end token left out");
      put(Number.isFinite(ppl) ? (ppl < 100 ? ppl.toFixed(2) : wb.number(Math.round(ppl))) : "∞", "perplexity", "How surprised the model was, before any mask: 1 is not at all");
      put(Number.isFinite(taken) ? taken.toFixed(1) : "∞", "bits taken by the mask", "How much of what the model wanted was forbidden, over the whole text");
      put(wb.number(steps.filter((step) => step.forced).length), "forced", "Tokens where only one was allowed");
      const rate = outcome?.rate || (state.running ? (steps.length - held.length) / Math.max(0.05, (performance.now() - started) / 1000) : 0);
      if (rate) put(wb.number(Math.round(rate)), "tokens/s", "With the model and the mask together");
    }
    const end = find(".outcome");
    end.textContent = outcome && steps.length ? (outcome.good ? "✓ " : "") + outcome.words : "";
    end.className = "outcome " + (outcome?.good ? "good" : "warn");
    stats.replaceChildren(...shown);
  }

  function select(index, focus) {
    state.selected = index;
    strip.mark(index, focus);
    inspector.show(state.steps[index], index);
    wb.emit("step", state.steps[index] || null);
    wb.emit("live rules", state.steps[index] && state.ran === state.text ? state.steps[index].rules : []);
  }

  async function recorded(example) {
    const lines = await wb.ask(server.recorded_run, { example: example.name });
    if (typeof lines !== "string" || !lines || state.running || state.example !== example) return false;
    run = "recorded";
    held = [];
    reset([]);
    state.ran = state.text;
    for (const line of lines.split("\n")) if (line) take(JSON.parse(line));
    tell("Recorded earlier with the embedded model; press Run for a fresh one.");
    return true;
  }

  go.addEventListener("click", () => begin());
  halt.addEventListener("click", () => stop());
  find(".copytext").addEventListener("click", (event) => {
    const bytes = state.steps.flatMap((step) => (step.token.end ? [] : step.token.hex !== undefined ? wb.bytesOf(step.token.hex) : [...new TextEncoder().encode(step.token.text)]));
    wb.copy(new TextDecoder().decode(new Uint8Array(bytes)), event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); if (!go.disabled) begin(); else if (state.pending) { runNext = true; wb.emit("compile now"); } }
    if (event.key === "Escape" && state.running && !document.querySelector("dialog[open]")) stop();
  }, true);
  document.addEventListener("keydown", (event) => {
    if (!state.selected && state.selected !== 0) return;
    if (event.key === "Escape" && !state.running && find(".insp").contains(document.activeElement)) find(".tok[aria-selected=true]")?.focus();
  });
  // Gradio's word that the stream is over, however it ended: queue full, server gone, all said
  wb.on("run over", () => {
    over += 1;
    const all = begun;
    setTimeout(() => { if (state.running && !outcome && all === begun && over >= begun) fail("the server ended it", "is it still running? Press Run again"); }, 500);
  });
  wb.on("rewrite", (asked) => { runNext = Boolean(asked.run); });
  wb.on("typed", () => { go.disabled = true; wb.emit("live rules", []); });
  wb.on("compiled", () => { busy(); wb.emit("step", state.steps[state.selected] || null); });
  wb.on("example", async (example) => {
    if (state.running) stop("stopped by another example");
    reset([]);
    blank.hidden = false;
    if (example.max_tokens) knobs.max_tokens.value = example.max_tokens;
    if (await recorded(example) || !example.first || state.example !== example) return;
    if (state.compiled?.ok && state.compiled.text === state.text) begin(); else firstRun = state.text;
  });
  // what the page is opened with runs by itself, so that a visitor sees a finished run first
  wb.on("compiled", (compiled) => {
    if ((runNext || firstRun === compiled.text) && compiled.ok && !state.running) begin();
    firstRun = null;
    runNext = false;
  });
  find(".insp").hidden = true; body.hidden = true; key.hidden = true; fault.hidden = true; halt.disabled = true; go.disabled = true;
  tell("");
};
