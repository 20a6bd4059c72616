/* The picture card: which machine is shown, how much of it, what a picked state expects, the way out as a file. */
"use strict";
wb.parts.picture = ({ element, server }) => {
  const { el, state } = wb;
  const find = (selector) => element.querySelector(selector);
  const tabs = find(".tabs"), count = find(".howmuch"), pic = find(".pic"), say = find(".say"), table = find(".tablebox"), foot = find(".foot");
  const menu = find(".menu"), menuList = find(".menu ul"), menuButton = find(".menu > button");
  let shown = null, request = 0, picked = null;

  const graph = wb.graph(pic, (chosen) => { picked = chosen; describe(); });

  const buttons = () => [...tabs.querySelectorAll("button")];
  function open(tab) {
    const usable = (name) => buttons().find((b) => b.dataset.tab === name && !b.disabled);
    const button = usable(tab) || usable("characters") || usable("rules") || usable("table");
    wb.choose(tabs, "aria-selected", button);
    // the row alone is scrolled: scrollIntoView would pull a phone's page down to the picture
    const at = button.getBoundingClientRect(), row = tabs.getBoundingClientRect();
    tabs.scrollLeft += Math.min(0, at.left - row.left) + Math.max(0, at.right - row.right);
    state.tab = button.dataset.tab;
    draw();
  }
  // the tab a person chose is come back to as soon as a grammar has it again
  let wanted = null;
  const want = (button) => { wanted = button.dataset.tab; open(wanted); };
  tabs.addEventListener("click", (event) => { const button = event.target.closest("button"); if (button && !button.disabled) want(button); });
  wb.roving(tabs, want);

  function message(text) {
    say.hidden = !text;
    say.firstElementChild.textContent = text || "";
  }

  async function draw(centre) {
    const compiled = state.compiled;
    if (!compiled || !compiled.ok) return;
    const mine = ++request;
    const asked = { text: compiled.text, notation: compiled.notation, tab: state.tab, narrow: element.clientWidth < 560, centre: centre || "", start: compiled.start, example: compiled.example };
    const slow = setTimeout(() => { if (mine === request) { pic.classList.add("stale"); count.textContent = "drawing…"; } }, 250);
    const answer = await wb.ask(server.draw_machine, asked);
    if (answer.fault) Object.assign(answer, { ok: false, why: answer.fault });
    clearTimeout(slow);
    if (mine !== request) return;
    pic.classList.remove("stale");
    shown = answer.ok ? answer : null;
    picked = null;
    const listed = answer.ok && state.tab === "table";
    table.hidden = !listed;
    pic.hidden = listed;
    count.textContent = answer.ok ? answer.count : "";
    if (listed) foot.prepend(answer.count + " · ");
    menu.hidden = !(answer.ok && answer.svg);
    message(answer.ok ? "" : answer.why);
    if (listed) list(answer); else { table.replaceChildren(); graph.show(answer.ok ? answer : null); }
    describe();
    follow();
    state.drawn = asked;
    wb.emit("drawn", answer);
  }

  function list(answer) {
    const body = el("tbody", {}, ...answer.rows.map((row) => el("tr", { "data-state": row[0] }, ...row.slice(1).map((cell) => el("td", {}, cell)))));
    table.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...answer.heads.map((head) => el("th", { scope: "col" }, head)))), body));
  }

  /** The line under the picture: what a picked state expects, else the stack of the selected token, else what is drawn. */
  function describe() {
    foot.replaceChildren();
    if (!shown) { foot.append(state.compiled?.ok ? "Another tab shows the grammar another way." : "A picture appears here when the grammar can be read."); return; }
    if (picked !== null) {
      const one = shown.states.find((each) => each.id === picked);
      const ways = shown.edges.filter((edge) => edge.source === picked);
      foot.append(el("span", {}, "state "), el("span", { class: "chip now" }, one?.label || picked));
      const more = (one?.title || "").replace(/^state \S+( · )?/, "");
      if (more) foot.append(el("span", {}, more));
      if (!ways.length) foot.append(el("span", {}, one?.kinds.includes("more") ? "its edges are not in this part" : "nothing may follow"));
      for (const way of ways.slice(0, 8)) foot.append(el("code", { title: way.title }, (way.labels.join("  ") || "ε").slice(0, 60) + " → " + nameOf(way.target)));
      if (ways.length > 8) foot.append(`and ${ways.length - 8} more`);
      if (shown.partial) foot.append(el("button", { class: "link", onclick: () => draw(picked) }, "Centre here"));
      return;
    }
    const step = state.steps[state.selected];
    if (step && step.stack.length && state.tab !== "detokenizer") {
      foot.append("stack");
      step.stack.forEach((name, index) => foot.append(index ? "▸" : "", el("span", { class: index === step.stack.length - 1 ? "chip now" : "chip" }, name)));
      return;
    }
    foot.append(shown.note ? shown.note + " · " : "", LEGEND[state.tab]);
  }
  const LEGEND = {
    characters: "double ring: may end here · click a state to see what may follow",
    tokens: "dashed: a token that passes over states · click a state to see what may follow",
    stack: "under what is read: ) comes off the stack, ( goes on it",
    rules: "a box is a call of another rule · click a state to see what may follow",
    detokenizer: "tokens in, characters out",
    table: "→ starts here · ◎ may end here",
  };
  const nameOf = (id) => shown.states.find((each) => each.id === id)?.label || id;

  /** The states a token passes in this picture; a machine over tokens passes none on the way. */
  function pathOf(step) {
    const states = (shown.follow && step.path[shown.follow]) || [];
    const moments = states.map((moment) => moment.map((name) => shown.names[name] ?? name));
    return shown.ends && moments.length ? [moments[0], moments[moments.length - 1]] : moments;
  }

  /** Light where the run stands: at the selected token, or at its end while it streams. */
  function follow() {
    if (!shown || !state.compiled?.ok) return;
    const index = state.selected >= 0 ? state.selected : state.steps.length - 1;
    const step = state.steps[index];
    if (!step || state.ran !== state.compiled.text) { graph.light([], []); return; }
    const path = pathOf(step);
    const standing = (state.selected >= 0 ? path[0] : path[path.length - 1]) || [];
    if (state.tab === "table") {
      for (const row of table.querySelectorAll("tr.now")) row.classList.remove("now");
      const rows = [...table.querySelectorAll("tbody tr")].filter((row) => standing.includes(row.dataset.state));
      for (const row of rows) row.classList.add("now");
      rows[0]?.scrollIntoView({ block: "nearest" });
      return;
    }
    const found = graph.light(standing, path);
    if (!found && shown.partial && state.selected >= 0 && standing[0] && shown.centre !== standing[0]) { draw(standing[0]); return; }
    if (!found && picked === null) {
      foot.replaceChildren(`the run stands in state ${standing[0]}, which is not in this part`, el("button", { class: "link", onclick: () => draw(standing[0]) }, "Show it"));
    }
  }

  wb.on("compiling", () => pic.classList.add("stale"));
  wb.on("compiled", (compiled) => {
    pic.classList.remove("stale");
    if (!compiled.ok) {
      if (!shown) { graph.show(null); message(compiled.empty ? "Write a grammar on the left, or choose an example above." : "No picture yet: the grammar cannot be read. The problems are listed under it."); describe(); }
      else { pic.classList.add("stale"); count.textContent = "last readable grammar"; }
      return;
    }
    for (const button of buttons()) {
      const why = compiled.tabs[button.dataset.tab];
      button.disabled = Boolean(why);
      button.title = why || "";
    }
    open(wanted || state.tab);
  });
  wb.on("step", () => { if (picked === null) describe(); follow(); });
  wb.on("tab", open);

  find(".zoom").addEventListener("click", (event) => {
    const act = event.target.closest("button")?.dataset.act;
    if (act === "in") graph.zoom(0.75); if (act === "out") graph.zoom(1.33); if (act === "fit") graph.fit();
  });
  const toggle = (wanted) => { menuList.hidden = !wanted; menuButton.setAttribute("aria-expanded", String(wanted)); };
  menuButton.addEventListener("click", () => { toggle(menuList.hidden); if (!menuList.hidden) menuList.querySelector("button").focus(); });
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) toggle(false); });
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { toggle(false); menuButton.focus(); event.stopPropagation(); } });
  wb.roving(menuList, () => {});
  menuList.addEventListener("click", (event) => {
    const act = event.target.closest("button")?.dataset.act;
    if (!act || !shown) return;
    const name = (state.example?.name || "grammar") + "-" + state.tab;
    if (act === "copy-dot") wb.copy(shown.dot, event.target);
    if (act === "copy-svg") wb.copy(shown.svg, event.target);
    if (act === "dot") wb.download(name + ".dot", "text/vnd.graphviz", shown.dot);
    if (act === "svg") wb.download(name + ".svg", "image/svg+xml", shown.svg);
    if (!act.startsWith("copy")) toggle(false);
  });
  menu.hidden = true;
  table.hidden = true;
};
