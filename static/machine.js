/* One machine of a grammar as a picture that goes with the run: it is drawn around where the run
   stands, kept until the next part is there, and lit at every token. */
(() => {
  "use strict";
  const KEPT = 60; // pictures kept, for going back and forth
  const PAUSE = 900; // milliseconds between two parts while a run streams: drawing must not slow it

  /** How pictures are looked at, the same for all of them; kept in the browser. */
  const USUAL = { follow: true, chains: null, merged: true, size: 0, direction: "" };
  const chosen = { ...USUAL, ...wb.saved?.get("picture", {}) };
  wb.looks = {
    get: () => chosen,
    set(changes) { Object.assign(chosen, changes); wb.saved?.set("picture", chosen); wb.emit("looks", chosen); },
  };

  const answers = new Map();
  /** A picture from the server, or the one it gave before. */
  async function drawn(server, asked) {
    const key = JSON.stringify([asked, wb.state.model]);
    if (answers.has(key)) { const known = answers.get(key); answers.delete(key); answers.set(key, known); return known; }
    const answer = (async () => {
      const told = await wb.ask(asked.tab === "railroad" ? server.draw_railroad : server.draw_machine, asked);
      return told.fault ? { ok: false, why: told.fault, fault: true } : told;
    })();
    answers.set(key, answer);
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
    if ((await answer).fault) answers.delete(key);
    return answer;
  }

  /** ``box`` becomes the picture. ``picked(state)``, ``edge(record)`` tell of clicks, ``shown(answer)`` of a picture
      that is there, ``lost(state)`` that the run has left it and is not followed; ``small``: a strip among others. */
  wb.machine = (box, server, { picked = () => {}, edge = () => {}, shown = () => {}, lost = () => {}, small = false } = {}) => {
    const { el, state } = wb;
    const count = el("span", { class: "howmuch", role: small ? undefined : "status" }), say = el("div", { class: "say", hidden: true }, el("div"));
    const bones = el("div", { class: "bones", "aria-hidden": "true" }, ...[0, 1, 2, 3, 4].map(() => el("i")));
    box.prepend(el("div", { class: "canvas" }), bones, count, say);
    const graph = wb.graph(box, picked, { edge: (index) => edge(record?.edges[index], index), camera: small ? { top: 0, scale: 0.92 } : {} });
    let record = null, tab = "", request = 0, loading = null, where = "", current = null, last = 0, soon = 0;

    const blank = (text, waiting) => { say.hidden = !text; say.firstElementChild.textContent = text || ""; bones.hidden = !waiting; };
    blank("", true);
    wb.on("kernels", (words) => { if (!record && !bones.hidden) blank(words, true); });

    function asked(centre) {
      const { example } = state.compiled;
      const { chains, merged, size, direction } = chosen;
      return { ...wb.grammarOf(state.compiled), example, tab, narrow: (direction || (box.clientWidth && box.clientWidth < 560 && !small ? "TB" : "LR")) === "TB", centre: centre || "", chains, merged, size: small ? 9 : size, direction: small ? "LR" : direction };
    }

    /** Draw, around a state where one is named; the old picture stays until the new one is there. */
    async function load(centre) {
      const mine = ++request;
      loading = centre || "";
      const sent = asked(centre);
      const slow = setTimeout(() => { if (mine === request) { box.classList.add("stale"); if (record) count.textContent = "drawing…"; else blank("", true); } }, 250);
      const answer = await drawn(server, sent);
      clearTimeout(slow);
      if (mine !== request) return;
      loading = null;
      box.classList.remove("stale");
      record = answer.ok ? answer : null;
      where = centre || "";
      count.textContent = answer.ok ? answer.count : "";
      blank(answer.ok ? "" : answer.why, false);
      graph.show(record, where);
      shown(answer, sent);
      if (current) go(...current);
    }

    /** Stand where the run stands: light it, and come along where that is wanted. */
    function go(step, atEnd = false) {
      current = [step, atEnd];
      if (!record) return;
      const { standing, path, over, edits } = wb.passed(record, step, atEnd);
      const found = graph.light(standing, path, { over, edits, fails: Boolean(step?.reason) });
      const here = standing[0];
      if (!here || loading !== null) return;
      if (found && chosen.follow) graph.follow(here, !state.running); // sixty repaints a move would slow a run
      if (!found && record.partial && chosen.follow && where !== here) {
        clearTimeout(soon);
        const wait = state.running ? last + PAUSE - performance.now() : 0;
        if (wait > 0) { soon = setTimeout(() => go(...current), wait); return; }
        last = performance.now();
        load(here);
        return;
      }
      if (!found) lost(here);
      else ahead();
    }
    /** The part the next token leads to is asked for before anybody steps there. */
    function ahead() {
      const next = state.steps[state.selected + 1];
      if (state.selected < 0 || !next || !record.partial || !chosen.follow) return;
      const there = wb.passed(record, next).standing[0];
      if (there && !graph.has(there)) drawn(server, asked(there));
    }

    return {
      graph, load, go,
      /** Where the run will stand in the next picture, or null where the grammar is no longer the run's. */
      expect(step, atEnd) { current = [step, atEnd]; },
      get record() { return record; },
      get tab() { return tab; },
      /** Show a machine of the grammar as it is compiled now; where the run stands if it is followed. */
      open(name, centre = "") {
        if (name !== tab) { record = null; graph.show(null); blank("", true); count.textContent = ""; }
        tab = name;
        const standing = !centre && chosen.follow && record ? wb.passed(record, current?.[0], current?.[1]).standing[0] : "";
        return load(centre || standing);
      },
      say(text, waiting) { record = null; graph.show(null); count.textContent = ""; blank(text, waiting); },
      stale(on, told) { box.classList.toggle("stale", on); if (told) count.textContent = told; },
    };
  };
})();
