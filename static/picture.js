/* The picture card: which machine is shown and how, what a picked state expects, what leaves as a file. */
"use strict";
wb.parts.picture = ({ element, server }) => {
  const { el, state } = wb;
  const find = (selector) => element.querySelector(selector);
  const tabs = find(".tabs"), pic = find(".pic.main"), trio = find(".trio"), table = find(".tablebox"), foot = find(".foot"), stackbox = find(".stackbox"), tools = find(".tools.looks");
  const FINDABLE = ["characters", "tokens", "stack", "rules"], STACKED = ["together", "stack", "rules"], NEVER_FOLLOWED = ["proper", "detokenizer"];
  let shown = null, picked = null, why = null, listed = "", lost = "";

  /** A state somebody picked, in the picture or in one of the three strips, each of its own machine. */
  const pick = (id, record = shown, tab = state.tab) => { picked = id === null ? null : { id, record, tab }; if (picked) edges.close(); describe(); };
  const main = wb.machine(pic, server, { picked: (id) => pick(id), edge: (one) => one && edges.show(one, shown, pic, state.tab), shown: arrived, lost: (id) => { lost = id; describe(); } });
  const together = wb.together(trio, server, { open: (name) => want(name, picked?.tab === name ? picked.id : ""), pick, edge: (one, record, from, tab) => edges.show(one, record, from, tab) });
  const stack = wb.stack(stackbox);
  const asked = (more) => ({ ...wb.grammarOf(state.compiled), example: state.compiled.example, tab: state.tab, ...more });
  const edges = wb.edges(find(".edgebox"), (edge, tab) => wb.ask(server.about_edge, asked({ tab, source: edge.source, target: edge.target })));
  const search = wb.find(find(".findbox"), { ask: (query) => wb.ask(server.find_states, asked({ query, of: listed })), go: centre });
  const rows = wb.rows(table, { choose: (of) => { listed = of; list(); }, place: (id) => want(listed, id) });

  // -- which machine ------------------------------------------------------------------------------
  const buttons = () => [...tabs.querySelectorAll("button")];
  function open(tab, at = "") {
    const usable = (name) => buttons().find((b) => b.dataset.tab === name && !b.disabled);
    const button = usable(tab) || usable("characters") || usable("rules") || usable("table");
    wb.choose(tabs, "aria-selected", button);
    wb.bring(tabs, button, 24);
    state.tab = button.dataset.tab;
    edges.close();
    layout();
    draw(at);
  }
  /** The tab a person chose is come back to as soon as a grammar has it again. */
  let wanted = new URLSearchParams(location.search).get("tab") || wb.saved?.get("tab") || "together";
  function want(tab, at = "") { wanted = tab; wb.saved?.set("tab", tab); open(tab, at); }
  tabs.addEventListener("click", (event) => { const button = event.target.closest("button"); if (button && !button.disabled) want(button.dataset.tab); });
  wb.roving(tabs, (button) => want(button.dataset.tab));
  /** Where the row of tabs goes on, it fades. */
  const fade = () => {
    tabs.classList.toggle("before", tabs.scrollLeft > 2);
    tabs.classList.toggle("after", tabs.scrollLeft + tabs.clientWidth < tabs.scrollWidth - 2);
  };
  tabs.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(fade).observe(tabs);

  function layout() {
    const tab = state.tab, drawn = !["together", "table", "railroad"].includes(tab);
    pic.hidden = tab === "together" || tab === "table";
    trio.hidden = tab !== "together";
    table.hidden = tab !== "table";
    stackbox.hidden = !(STACKED.includes(tab) || (tab === "tokens" && state.compiled?.tabs?.characters));
    find(".findbox").hidden = !FINDABLE.includes(tab);
    tools.hidden = tab === "table" || tab === "railroad";
    for (const each of tools.querySelectorAll("[data-look], .size")) each.hidden = !drawn;
    find(".follow").hidden = NEVER_FOLLOWED.includes(tab);
  }

  async function draw(at = "") {
    if (!state.compiled?.ok) return;
    picked = null;
    lost = "";
    search.clear();
    if (state.tab === "table") { await list(); return; }
    if (state.tab === "together") {
      shown = null;
      describe();
      exportsOf(null);
      const sent = asked();
      await together.draw();
      if (state.tab !== "together" || sent.text !== state.compiled.text) return;
      shown = together.records()[0];
      follow();
      describe();
      state.drawn = sent;
      wb.emit("drawn", shown);
      return;
    }
    await main.open(state.tab, at);
    if (at) main.graph.pick(at);
  }
  function arrived(answer, sent) {
    shown = answer.ok ? answer : null;
    picked = null;
    lost = "";
    if (sent.tab === "railroad") main.graph.rules(state.steps[state.selected]?.rules || []);
    exportsOf(shown);
    describe();
    follow();
    state.drawn = sent;
    wb.emit("drawn", answer);
  }
  async function list() {
    const missing = state.compiled.tabs || {};
    if (!listed || missing[listed]) listed = missing.characters ? "rules" : "characters";
    const [step, atEnd] = standing();
    const path = step?.path || {}, moments = path[{ characters: "characters", rules: "rules", stack: "stack" }[listed]] || [];
    const sent = asked({ of: listed, centre: (atEnd ? moments[moments.length - 1] : moments[0])?.[0] || "" });
    const answer = await wb.ask(server.draw_machine, sent);
    if (answer.fault) Object.assign(answer, { ok: false, why: answer.fault });
    if (state.tab !== "table" || sent.of !== listed || sent.text !== state.compiled?.text) return;
    shown = answer.ok ? answer : null;
    rows.show(answer, listed);
    exportsOf(null);
    describe();
    follow();
    state.drawn = sent;
    wb.emit("drawn", answer);
  }
  /** Centre on a state that was searched, drawn or not. */
  async function centre(id) {
    if (main.graph.has(id)) main.graph.follow(id); else await main.load(id);
    main.graph.pick(id);
    main.graph.reveal("state-" + id);
    pic.focus({ preventScroll: true });
  }

  // -- the run ------------------------------------------------------------------------------------
  /** The step the pictures stand at: the selected token, or while it streams the end. */
  function standing() {
    if (why) return [why, false];
    const index = state.selected >= 0 ? state.selected : state.steps.length - 1;
    const step = state.steps[index] ?? state.turn; // before its first token a run stands at its prompt
    return step && state.compiled?.ok && state.ran === wb.key(state.compiled) ? [step, state.selected < 0] : [null, false];
  }
  function follow() {
    if (!state.compiled?.ok) return;
    const [step, atEnd] = standing();
    find(".picturecard").classList.toggle("failing", Boolean(why));
    stack.show(step, atEnd);
    if (state.tab === "together") together.go(step, atEnd);
    else if (state.tab === "table") rows.go(step, atEnd);
    else { lost = ""; main.go(step, atEnd); }
  }

  // -- the line under the picture -------------------------------------------------------------------
  const LEGEND = {
    together: "amber: where the run stands · arrow keys in the text step all three",
    characters: "double ring: may end here · click a state to see what may follow",
    tokens: "dashed: a token that passes over states · click an edge for all its tokens",
    proper: "what the tokenizer itself would write · click an edge for all its tokens",
    stack: "under what is read: ) comes off the stack, ( goes on it",
    rules: "a box is a call of another rule · click a state to see what may follow",
    railroad: "along the track is what may be written · click a rule to go there",
    detokenizer: "tokens in, characters out",
    table: "→ starts here · ◎ may end here · click a row to see it drawn",
  };
  let details = 0;
  function describe() {
    details += 1;
    if (!state.compiled?.ok) { foot.replaceChildren(state.compiled ? "A picture appears here when the grammar can be read." : ""); return; }
    if (picked?.record) { aboutState(picked); return; }
    if (why) {
      foot.replaceChildren(el("span", {}, why.read ? "read " : "nothing of it is read"), ...(why.read ? [el("code", {}, wb.glyphs({ text: why.read })), el("span", { class: "good" }, "✓")] : []), el("span", { class: "no" }, "✗ ", el("code", {}, why.failing ? wb.glyphs({ text: why.failing }) : "the end")), el("span", {}, "expected "), el("code", {}, why.expected || "nothing"));
      return;
    }
    const [step] = standing();
    foot.replaceChildren();
    if (lost) { foot.append(`the run stands in state ${lost}, which is not in this part`, el("button", { type: "button", class: "link", onclick: () => main.load(lost) }, "Show it")); return; }
    if (step?.stack?.length && ["characters", "tokens", "railroad", "table"].includes(state.tab)) {
      foot.append("rules");
      step.stack.forEach((name, index) => foot.append(index ? "▸" : "", el("span", { class: index === step.stack.length - 1 ? "chip now" : "chip" }, name)));
      return;
    }
    foot.append(shown?.note ? shown.note + " · " : "", LEGEND[state.tab] || "");
  }
  /** What may follow in a state, how a text comes there, and where that is written. */
  async function aboutState({ id, record, tab }) {
    const mine = details, one = record.states.find((each) => each.id === id);
    const ways = record.edges.filter((edge) => edge.source === id), nameOf = (other) => record.states.find((each) => each.id === other)?.label || other;
    const call = id.startsWith("call-");
    const head = [el("span", {}, call ? "call of" : "state"), el("span", { class: "chip now" }, call ? one.label.replace(/^→ /, "") : one?.label || id)];
    const rule = one?.rule || one?.title.match(/^state \S+(?: · (?:initial|final))* · (.+?) · \d+(?: · |$)/)?.[1];
    if (rule && !call) head.push(el("span", {}, "of ", el("b", {}, rule)));
    if (one?.kinds.includes("final")) head.push(el("span", {}, "may end here"));
    const goes = ways.slice(0, 6).map((way) => el("code", { title: way.title }, (way.labels.join("  ").split("\n")[0] || (call ? "back" : "ε")).slice(0, 40) + " → " + nameOf(way.target)));
    if (ways.length > 6) goes.push(el("span", {}, `and ${ways.length - 6} more`));
    if (!ways.length && !call) goes.push(el("span", {}, one?.kinds.includes("more") ? "its edges are not in this part" : "nothing may follow"));
    const more = record.partial && FINDABLE.includes(state.tab) ? [el("button", { type: "button", class: "link", onclick: () => centre(id) }, "Centre here")] : [];
    foot.replaceChildren(...head, ...goes, ...more);
    if (!FINDABLE.includes(tab) || call) return;
    const told = await wb.ask(server.about_state, asked({ tab, state: id }));
    if (mine !== details || !told.ok) return;
    const said = [];
    if (told.tokens) said.push(el("span", {}, `${wb.number(told.tokens)} tokens`));
    if (told.reads) said.push(el("span", {}, "reads ", el("code", {}, told.reads)));
    if (told.places.length) said.push(el("span", {}, "written "), ...told.places.map((place) => el("button", { type: "button", class: "link", title: "Go to this place in the grammar", onclick: () => wb.emit("place", place) }, el("code", {}, wb.glyphs({ text: place.what })))));
    if (told.reached) said.push(el("span", {}, "after ", el("code", {}, told.reached)));
    foot.replaceChildren(...head, ...said, ...goes, ...more);
  }

  // -- how it is looked at --------------------------------------------------------------------------
  const USUAL = { tokens: 20, stack: 24 }, SIZES = [8, 14, 20, 24, 40, 70, 110];
  function looks() {
    const now = wb.looks.get();
    find(".follow").setAttribute("aria-pressed", String(now.follow));
    find("[data-look=chains]").setAttribute("aria-pressed", String(now.chains !== false));
    find("[data-look=merged]").setAttribute("aria-pressed", String(now.merged));
    find("[data-look=down]").setAttribute("aria-pressed", String((now.direction || (element.clientWidth < 560 ? "TB" : "LR")) === "TB"));
  }
  tools.addEventListener("click", (event) => {
    const button = event.target.closest("button"), now = wb.looks.get();
    if (!button) return;
    const pressed = button.getAttribute("aria-pressed") === "true";
    if (button.matches(".follow")) { wb.looks.set({ follow: !pressed }); follow(); describe(); }
    if (button.dataset.look === "chains") wb.looks.set({ chains: pressed ? false : null });
    if (button.dataset.look === "merged") wb.looks.set({ merged: !pressed });
    if (button.dataset.look === "down") wb.looks.set({ direction: pressed ? "LR" : "TB" });
    if (button.dataset.size) {
      const size = now.size || USUAL[state.tab] || 40;
      const next = (button.dataset.size === "1" ? SIZES.find((s) => s > size) : SIZES.findLast((s) => s < size)) ?? size;
      wb.looks.set({ size: next === (USUAL[state.tab] || 40) ? 0 : next });
    }
    if (!button.matches(".follow")) draw(picked?.id || "");
  });
  wb.on("looks", looks);
  looks();

  // -- files ----------------------------------------------------------------------------------------
  const menu = find(".exports");
  const exportsOf = wb.exportMenu(menu, () => `${state.example?.name || "grammar"}-${state.tab}`);

  wb.on("compiling", () => { main.stale(true); together.stale(true); });
  wb.on("compiled", (compiled) => {
    main.stale(false);
    together.stale(false);
    why = null;
    if (!compiled.ok) {
      const says = compiled.empty ? "Write a grammar on the left, or choose an example above." : "No picture yet: the grammar cannot be read. The problems are listed under it.";
      if (!shown) { if (state.tab === "together") { state.tab = "characters"; layout(); } main.say(says); }
      else { main.stale(true, "last readable grammar"); together.stale(true); }
      describe();
      return;
    }
    for (const button of buttons()) {
      const missing = compiled.tabs[button.dataset.tab];
      button.disabled = Boolean(missing);
      button.title = missing || (button.dataset.tab === "together" ? "Three machines that go with the run at once" : "");
    }
    for (const each of [main, together]) each.expect(...standing());
    open(wanted || state.tab);
  });
  wb.on("step", () => { why = null; lost = ""; if (!picked) describe(); follow(); });
  wb.on("why", (record) => { why = record?.path ? record : null; if (why) picked = null; describe(); follow(); });
  wb.on("live rules", (names) => main.graph.rules(names));
  wb.on("example", (example) => { if (example.tab) wanted = example.tab; }); // a link or a draft says where it was looked at
  wb.on("model", () => { if (state.compiled?.ok && ["tokens", "proper", "detokenizer", "together"].includes(state.tab) && state.drawn) draw(); });

  find(".zoom").addEventListener("click", (event) => {
    const act = event.target.closest("button")?.dataset.act;
    if (act === "in") main.graph.zoom(0.75); if (act === "out") main.graph.zoom(1.33); if (act === "fit") main.graph.fit();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "g" && pic.hidden && !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)) element.querySelector(".stage > :not([hidden]) [tabindex='0']")?.focus();
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName) || state.view !== "workbench") return;
    event.preventDefault();
    if (!FINDABLE.includes(state.tab)) open(state.compiled?.tabs?.characters ? "rules" : "characters");
    search.focus();
  });
  layout();
};
