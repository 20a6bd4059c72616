/* The picture card: which machine is shown and how, what a selected state expects, and the export. */

import { createLatest } from "./ask.js";
import {
  copyText,
  createMenu,
  createToolbar,
  download,
  el,
  isTyping,
  markChosen,
  radios,
  roving,
  showNotice,
} from "./dom.js";
import { createMachine, pictureLooks } from "./machine.js";
import {
  createEdgeList,
  createExportMenu,
  createFindBox,
  createRows,
  createStack,
  exportEntries,
} from "./picture-tools.js";
import { cards, emit, fileNameNow, grammarKey, grammarOf, on, state } from "./state.js";
import { saved } from "./storage.js";
import { formatNumber, glyphs } from "./tokens.js";
import { createTreeTools } from "./tree.js";
import { createWalkthrough } from "./walkthrough.js";

/** @import { Context } from "./wire" */

/** @param {Pick<Context<"picture">, "element" | "server">} context
    @param {{ createConstruction?: (dialog: any, buttons: any[], server: any) => void }} [doors] what a replay lacks */
export function mountPicture({ element, server }, { createConstruction = /** @type {any} */ (null) } = {}) {
  const find = (selector) => element.querySelector(selector);
  const tabs = find(".tabs"),
    more = find(".moretabs"),
    pic = find(".pic.main"),
    table = find(".tablebox"),
    foot = find(".foot"),
    stackbox = find(".stackbox"),
    tools = find(".tools.looks");
  const FINDABLE = ["together", "characters", "tokens", "stack", "rules"],
    NEVER_FOLLOWED = ["proper", "detokenizer"],
    SIZED = ["characters"];
  const isLive = createConstruction !== /** @type {any} */ (null); // a replay has the recorded pictures only
  let shown = /** @type {any} */ (null),
    picked = /** @type {any} */ (null),
    draft = false, // whether the picture is that of an unfinished grammar
    why = /** @type {any} */ (null),
    listed = "",
    lost = "";

  /** A state was selected in the picture. */
  const pick = (id) => {
    picked = id === null ? null : { id, record: shown, tab: state.tab };
    if (picked) edges.close();
    if (shown?.tree) {
      tree.mark(shown, id);
      main.graph.path(id === null ? [] : tree.path(shown, id));
    }
    describe();
  };
  const main = createMachine(pic, server, {
    picked: pick,
    edge: (one) => {
      if (one) edges.show(one, shown, pic);
    },
    flag: (segment) => edges.show(segment.edge, shown, pic, segment.parts),
    shown: arrived,
    flagged: (answer) => {
      find(".count").textContent = find(".count").title = answer.ok ? answer.count : answer.why;
      state.flagged = main.over;
      emit("flagged", answer);
    },
    lost: (id) => {
      lost = id;
      describe();
    },
    beyond: (by, under) => beyond(by, under),
  });
  const stack = createStack(stackbox);
  const tree = createTreeTools(find, () => draw());
  const asked = (more) => ({
    ...grammarOf(state.compiled),
    example: state.compiled.example,
    tab: state.tab,
    ...more,
  });
  const edges = createEdgeList(
    find(".edgebox"),
    (ask, edge, parts) =>
      ask(server.about_edge, {
        ...(parts ? { ...main.over, parts } : main.sent),
        source: edge.source,
        target: edge.target,
      }),
    isLive ? unfold : null,
  );
  function unfold(states) {
    edges.close();
    main.unfold(states);
    looks();
  }
  const search = createFindBox(find(".findbox"), {
    find: (ask, query) => ask(server.find_states, asked({ query, of: listed })),
    go: centre,
  });
  const rows = createRows(table, {
    choose: (of) => {
      listed = of;
      list();
    },
    place: (id) => want(listed, id),
  });
  const menuOfMore = createMenu(more);
  createToolbar(find(".bar"), "Machines", ".menu > button, .bar > .built");
  createToolbar(tools, "How the picture is shown", ".switch, .findbox input");
  // a tab stop only where the keyboard is needed to scroll it
  const scrolls = () => {
    foot.tabIndex = foot.scrollHeight > foot.clientHeight ? 0 : -1;
  };
  new ResizeObserver(scrolls).observe(foot);
  new MutationObserver(scrolls).observe(foot, { childList: true, subtree: true, characterData: true });

  // -- which machine ------------------------------------------------------------------------------
  const buttons = () => [...element.querySelectorAll("[data-tab]")];
  function open(tab, at = "") {
    const usable = (name) => buttons().find((b) => b.dataset.tab === name && !b.disabled);
    const button = usable(tab) || usable("together") || usable("table");
    markChosen(tabs, "aria-selected", button);
    if (!tabs.contains(button)) [...tabs.children].find((each) => !each.disabled).tabIndex = 0;
    const inMore = more.contains(button);
    more.classList.toggle("chosen", inMore);
    more.querySelector(".name").textContent = inMore ? button.textContent : "More";
    state.tab = button.dataset.tab;
    edges.close();
    layout();
    draw(at);
  }
  /** The tab a person chose is come back to as soon as a grammar has it again. */
  let wanted = new URLSearchParams(location.search).get("tab") || saved.get("tab") || "together";
  function want(tab, at = "") {
    wanted = tab;
    saved.set("tab", tab);
    open(tab, at);
  }
  for (const row of [tabs, more])
    row.addEventListener("click", (event) => {
      const button = event.target.closest("[data-tab]");
      if (button && !button.disabled) {
        menuOfMore.close();
        want(button.dataset.tab);
      }
    });
  roving(tabs, (button) => want(button.dataset.tab));

  /** What the tab has next to its picture: the stack where the grammar needs one, and the switches that apply. */
  function layout() {
    const tab = state.tab,
      nests = Boolean(state.compiled?.tabs?.characters),
      rules = tab === "stack" || tab === "rules";
    pic.hidden = tab === "table";
    table.hidden = tab !== "table";
    const [step, atEnd] = standing();
    const stacked = nests && ["together", "tokens", "stack"].includes(tab) && stack.show(step, atEnd);
    stackbox.hidden = !(stacked && pictureLooks.get().stack);
    find("[data-look=stack]").hidden = !(stacked && tab === "together");
    find(".findbox").hidden = !FINDABLE.includes(tab);
    tools.hidden = tab === "table" || tab === "railroad";
    find(".size").hidden = !SIZED.includes(tab);
    find("[data-look=chains]").hidden = !(SIZED.includes(tab) || rules);
    find("[data-look=tokens]").hidden = tab !== "together";
    find(".levels").hidden = !rules;
    find(".treetools").hidden = tab !== "tree";
    find(".follow").hidden = NEVER_FOLLOWED.includes(tab);
  }

  async function draw(at = "") {
    if (!state.compiled?.ok) return;
    if (picked?.record?.tree) tree.mark(picked.record, null);
    picked = null;
    lost = "";
    search.clear();
    if (state.tab === "table") {
      main.drop();
      find(".count").textContent = "";
      await list();
      return;
    }
    listing.drop();
    await main.open(state.tab, at);
    if (at) main.graph.pick(at);
  }
  function arrived(answer, sent) {
    // another part of the same picture, loaded to follow the run, keeps the selected state
    const kept = picked?.tab === sent.tab && !picked.record?.tree ? picked.id : "";
    if (picked?.record?.tree) tree.mark(picked.record, null); // a node of a tree has another number in the next
    shown = answer.ok ? answer : null;
    picked = null;
    lost = "";
    const counts = answer.ok && !(sent.tab === "together" && pictureLooks.get().tokens);
    find(".count").textContent = find(".count").title = counts ? answer.count : "";
    tree.show(answer.ok ? answer : null, Boolean(standing()[0]));
    if (sent.tab === "railroad") main.graph.rules((state.compiled?.ok && state.steps[state.selected]?.rules) || []);
    exportsOf(shown);
    describe();
    follow();
    state.drawn = sent;
    emit("drawn", answer);
    if (kept && main.graph.has(kept)) main.graph.pick(kept);
  }
  const listing = createLatest({ subject: () => grammarKey(state.compiled) });
  function list() {
    const missing = state.compiled.tabs || {};
    if (!listed || missing[listed]) listed = missing.characters ? "rules" : "characters";
    const [step, atEnd] = standing();
    const path = step?.path || {},
      moments = path[{ characters: "characters", rules: "rules", stack: "rules" }[listed]] || [];
    const sent = asked({ of: listed, centre: (atEnd ? moments[moments.length - 1] : moments[0])?.[0] || "" });
    return listing.run(async (ask) => showRows(await ask(server.draw_machine, sent), sent));
  }
  function showRows(answer, sent) {
    if (answer.fault) Object.assign(answer, { ok: false, why: answer.fault });
    shown = answer.ok ? answer : null;
    rows.show(answer, listed);
    exportsOf(null);
    describe();
    follow();
    state.drawn = sent;
    emit("drawn", answer);
  }
  /** Centre on a state that was searched, drawn or not. */
  async function centre(id) {
    if (main.graph.has(id)) main.graph.follow(id);
    else await main.load(id);
    main.graph.pick(id);
    main.graph.reveal(`state-${id}`);
    pic.focus({ preventScroll: true });
  }

  // -- the run ------------------------------------------------------------------------------------
  /** The step the pictures show: the selected token, or while it streams the end. */
  function standing() {
    if (why) return [why, false];
    const index = state.selected >= 0 ? state.selected : state.steps.length - 1;
    const step = state.steps[index] ?? state.turn; // before its first token a run is at its prompt
    return step && state.compiled?.ok && state.ran === grammarKey(state.compiled)
      ? [step, state.selected < 0]
      : [null, false];
  }
  function follow() {
    if (!state.compiled?.ok) return;
    const [step, atEnd] = standing();
    find(".picturecard").classList.toggle("failing", Boolean(why));
    layout();
    if (state.tab === "table") rows.go(step, atEnd);
    else {
      lost = "";
      main.go(step, atEnd);
    }
  }

  // -- the line under the picture -------------------------------------------------------------------
  const STACK_LEGEND = [
    el("b", { class: "push" }, "▲n"),
    " n symbols pushed ",
    el("b", { class: "pop" }, "▼n"),
    " n popped",
  ];
  const LEGEND = {
    together: () =>
      state.compiled.tabs.characters
        ? [
            "blue: the tokens that may follow, at the states they lead to; dashed: read after returning from a rule · ",
            ...STACK_LEGEND,
          ]
        : ["blue: the tokens that may follow, where they lead"],
    characters: () => ["double ring: the text may end here · click a state to see what may follow"],
    tokens: () => [
      ...(cards.run?.masked(0).masked ? ["all tokens of the grammar, of which this run allows some · "] : []),
      "dashed: tokens that pass over states · click an edge for all its tokens ",
      ...(state.compiled.tabs.characters ? STACK_LEGEND : []),
    ],
    proper: () => ["the spellings the tokenizer itself writes · click an edge for all its tokens"],
    stack: () =>
      pictureLooks.get().level === "calls"
        ? ["an arrow: one rule calls another · click a rule to see its states"]
        : [
            el("b", { class: "push" }, "▲9"),
            " calls the rule and pushes state 9, in which it continues · double ring: the rule may end here",
          ],
    rules: () =>
      pictureLooks.get().level === "calls"
        ? LEGEND.stack()
        : ["a box calls another rule · click a state to see what may follow"],
    railroad: () => [
      "follow the track from left to right to write an accepted text · click a rule to go to its definition",
    ],
    detokenizer: () => ["reads tokens, writes characters"],
    table: () => ["→ initial state · ◎ the text may end here · click a row to see it drawn"],
  };
  const details = createLatest();
  function describe() {
    details.drop();
    if (!state.compiled?.ok) {
      const what = draft
        ? "The rules that can be read; a dashed box is a missing rule."
        : "The picture shows the last version of the grammar that could be read.";
      foot.replaceChildren(shown ? what : "");
      return;
    }
    if (state.tab === "tree") {
      foot.replaceChildren(...(shown?.tree ? tree.describe(shown, picked) : []));
      return;
    }
    if (picked?.record) {
      aboutState(picked);
      return;
    }
    if (why) {
      foot.replaceChildren(
        el("span", {}, why.read ? "read " : "no character of it fits"),
        ...(why.read ? [el("code", {}, glyphs({ text: why.read })), el("span", { class: "good" }, "✓")] : []),
        el("span", { class: "no" }, "✗ ", el("code", {}, why.failing ? glyphs({ text: why.failing }) : "the end")),
        el("span", {}, "expected "),
        el("code", {}, why.expected || "nothing"),
      );
      return;
    }
    const [step] = standing();
    foot.replaceChildren();
    if (lost) {
      foot.append(
        "The run is in a state that is not in this part. ",
        el("button", { type: "button", class: "link", onclick: () => main.load(lost) }, "Show it"),
      );
      return;
    }
    if (step?.stack?.length && ["railroad", "table"].includes(state.tab)) {
      foot.append("rules");
      for (const [index, name] of step.stack.entries())
        foot.append(
          index ? "▸" : "",
          el("span", { class: index === step.stack.length - 1 ? "chip now" : "chip" }, name),
        );
      return;
    }
    foot.append(
      ...(shown?.note ? [el("span", { class: "drawn", title: shown.note }, shown.note)] : []),
      el("span", { class: "legend" }, ...(LEGEND[state.tab]?.() ?? [])),
    );
    const legend = foot.querySelector(".legend");
    legend.title = legend.textContent ?? "";
  }
  /** What may follow in a state, how a text comes there, and where that is written. */
  function aboutState({ id, record, tab }) {
    const one = record.states.find((each) => each.id === id);
    const ways = record.edges.filter((edge) => edge.source === id),
      nameOf = (other) => record.states.find((each) => each.id === other)?.label || other;
    const call = id.startsWith("call-");
    const rule = one?.rule || one?.title.match(/^state \S+(?: · (?:initial|final))* · (.+?) · \d+(?: · |$)/)?.[1];
    const head = [
      el("span", {}, call ? "call of" : "state"),
      el("span", { class: "chip now" }, call ? one.label.replace(/^→ /, "") : one?.label || id),
    ];
    if (rule && !call) head.push(el("span", {}, "of rule ", el("b", {}, rule)));
    if (one?.kinds.includes("final"))
      head.push(el("span", { class: "chip" }, rule ? "the rule may end here" : "the text may end here"));
    const goes = ways
      .slice(0, 6)
      .flatMap((way, index) => [
        index ? ", " : "",
        el(
          "code",
          { title: way.title },
          ((way.labels.join("  ").split("\n")[0] || (call ? "back" : "ε")) + (way.mark ? ` ${way.mark}` : "")).slice(
            0,
            40,
          ) +
            " → " +
            nameOf(way.target).replace(/^→ /, ""),
        ),
      ]);
    if (ways.length > 6) goes.push(` and ${ways.length - 6} more`);
    const leads = ways.length
      ? [part(call ? "leads to" : "reads", ...goes)]
      : call
        ? []
        : [el("span", {}, one?.kinds.includes("more") ? "its edges are not in this part" : "nothing may follow")];
    const button =
      record.partial && FINDABLE.includes(state.tab)
        ? [el("button", { type: "button", class: "link", onclick: () => centre(id) }, "Centre here")]
        : [];
    foot.replaceChildren(...head, ...leads, ...button);
    if (!FINDABLE.includes(tab) || call) return;
    const machine = tab === "together" ? (state.compiled.tabs.characters ? "stack" : "characters") : tab;
    details.run(async (ask) => {
      const answer = await ask(server.about_state, asked({ tab: machine, state: id }));
      if (answer.ok)
        foot.replaceChildren(...head, ...leadsOf(answer, ways.length ? leads : []), ...saidOf(answer), ...button);
    });
  }
  const part = (name, ...content) =>
    el("span", { class: "part" }, el("span", { class: "quiet" }, `${name} `), ...content);
  /** What may follow in a state: what its edges read, and what is read after its rule has ended. */
  function leadsOf({ reads, returns }, drawn) {
    const read = drawn.length || !reads ? drawn : [part("reads", el("code", {}, reads))];
    const after = returns ? [part("after returning:", el("code", {}, returns.replaceAll("`", "")))] : [];
    return read.length || after.length ? [...read, ...after] : [el("span", {}, "nothing may follow")];
  }
  /** What else the server knows of a state. */
  function saidOf(answer) {
    const said = [];
    if (answer.tokens) said.push(el("span", {}, `${formatNumber(answer.tokens)} tokens`));
    if (answer.places.length)
      said.push(
        part(
          "written as",
          ...answer.places.flatMap((place, index) => [
            index ? ", " : "",
            el(
              "button",
              {
                type: "button",
                class: "link",
                title: "Go to this place in the grammar",
                onclick: () => emit("place", place),
              },
              el("code", {}, glyphs({ text: place.what })),
            ),
          ]),
        ),
      );
    if (answer.reached) said.push(part("for example after", el("code", {}, answer.reached)));
    return said;
  }

  // -- how it is looked at --------------------------------------------------------------------------
  const USUAL = 60,
    SIZES = [5, 8, 12, 18, 26, 40, 60, 90];
  const LEVELS = [
    ["calls", "Calls"],
    ["states", "States"],
    ["around", "Around"],
  ];
  const showLevel = radios(find(".levels"), "data-level", LEVELS, (level) => {
    pictureLooks.set({ level });
    draw(picked?.id || "");
  });
  function looks() {
    const now = pictureLooks.get();
    find(".follow").setAttribute("aria-pressed", String(now.follow));
    find("[data-look=chains]").setAttribute("aria-pressed", main.unfolded ? "mixed" : String(now.chains !== false));
    find("[data-look=tokens]").setAttribute("aria-pressed", String(now.tokens));
    find("[data-look=stack]").setAttribute("aria-pressed", String(now.stack));
    showLevel(now.level);
  }
  tools.addEventListener("click", (event) => {
    const button = event.target.closest("button"),
      now = pictureLooks.get();
    if (!button) return;
    const pressed = button.getAttribute("aria-pressed") === "true";
    if (button.matches(".follow")) {
      pictureLooks.set({ follow: !pressed });
      follow();
      describe();
    }
    if (button.dataset.look === "chains" && main.unfolded) {
      unfold([]);
      return;
    }
    if (button.dataset.look === "chains") pictureLooks.set({ chains: pressed ? false : null });
    if (button.dataset.look === "tokens") {
      pictureLooks.set({ tokens: !pressed });
      find(".count").textContent = find(".count").title = shown?.count ?? "";
      main.flags();
      return;
    }
    if (button.dataset.look === "stack") {
      pictureLooks.set({ stack: !pressed });
      layout();
      return;
    }
    if (button.dataset.size) {
      const size = now.size || Math.min(shown?.states.length || USUAL, USUAL);
      const next =
        (button.dataset.size === "1" ? SIZES.find((s) => s > size) : SIZES.findLast((s) => s < size)) ?? size;
      pictureLooks.set({ size: next === USUAL ? 0 : next });
    }
    if (button.dataset.look || button.dataset.size) draw(picked?.id || "");
  });
  /** A zoom beyond a picture's useful scales goes to the next level, around what lies under the pointer. */
  function beyond(by, under) {
    const { level } = pictureLooks.get(),
      next = LEVELS[LEVELS.findIndex(([name]) => name === level) + by]?.[0];
    if (find(".levels").hidden || !next) return false;
    const node = under?.closest?.(".node"),
      rule = node?.matches(".calls")
        ? node.querySelector("text").textContent
        : under?.closest?.(".cluster")?.dataset.rule;
    pictureLooks.set({ level: next });
    draw(by < 0 ? "" : (shown?.rules?.[rule] ?? node?.dataset.id?.replace(/^state-/, "") ?? ""));
    return true;
  }
  /** A rule of the call picture opens among the states. */
  on("open rule", (name) => {
    const first = shown?.rules?.[name] ?? "";
    pictureLooks.set({ level: "states" });
    draw(first);
  });
  on("looks", looks);
  looks();

  // -- files ----------------------------------------------------------------------------------------
  const menu = find(".exports");
  const exportsOf = createExportMenu(menu, () => `${fileNameNow()}-${state.tab}`);
  const hasTikz = () => [...FINDABLE, ...NEVER_FOLLOWED].includes(state.tab) && Boolean(server.draw_tikz);
  const files = createLatest();
  /** @param {(tikz: string) => void} act */
  const withTikz = (act) =>
    files.run(async (ask) => {
      const answer = await ask(server.draw_tikz, main.sent);
      if (answer.ok) act(answer.tikz);
      else showNotice(answer.fault || answer.why);
    });
  exportEntries.add("Copy TikZ", (_record, _name, button) => withTikz((text) => copyText(text, button)), hasTikz);
  exportEntries.add(
    "Download TikZ",
    (_record, name) => withTikz((text) => download(`${name}.tex`, "application/x-tex", text)),
    hasTikz,
  );
  const built = [...element.querySelectorAll(".built")];
  createConstruction?.(find("dialog"), built, server);
  more.querySelector(".built").addEventListener("click", menuOfMore.close);

  /** Why there is no picture. */
  const missingPicture = ({ empty, unfilled }) =>
    empty
      ? state.example?.exercise
        ? "Write your answer on the left: its picture appears here."
        : "Write a grammar on the left, or choose an example above."
      : unfilled
        ? "No picture: the grammar can be read, but its hole cannot be filled. The problem under the grammar says why."
        : "No picture yet: the grammar cannot be read. The problems are listed under it.";
  /** Show a sentence in the place of the picture, and nothing that belongs to a picture. */
  function blank(sentence) {
    if (picked?.record?.tree) tree.mark(picked.record, null);
    shown = picked = null;
    edges.close();
    tree.show(null, false);
    stack.show(null);
    exportsOf(null);
    pic.hidden = false;
    table.hidden = stackbox.hidden = true;
    main.say(sentence);
  }

  on("compiling", () => {
    main.stale(true, true);
    table.classList.add("stale");
  });
  const titles = {};
  on("compiled", (compiled) => {
    main.stale(false);
    table.classList.remove("stale");
    why = null;
    for (const button of built) button.hidden = !compiled.ok || !createConstruction;
    if (!compiled.ok) {
      find(".count").textContent = find(".count").title = "";
      // the last picture of this grammar stays; without one, and in Railroad, the rules that can be read are drawn
      draft = Boolean(compiled.drawable && (!shown || compiled.unread || draft || state.tab === "railroad"));
      if (draft) {
        pic.hidden = false;
        table.hidden = stackbox.hidden = true;
        main.open("railroad");
      } else if (!shown || compiled.unread || compiled.empty || compiled.unfilled) blank(missingPicture(compiled));
      else {
        main.stale(true);
        table.classList.add("stale");
      }
      describe();
      return;
    }
    for (const button of buttons()) {
      const missing = compiled.tabs[button.dataset.tab];
      button.disabled = Boolean(missing);
      titles[button.dataset.tab] ??= button.title;
      button.title = missing || titles[button.dataset.tab];
    }
    draft = false;
    main.expect(...standing());
    open(wanted || state.tab);
  });
  on("step", () => {
    why = null;
    lost = "";
    if (!picked) describe();
    follow();
  });
  on("why", (record) => {
    why = record?.path ? record : null;
    if (why) picked = null;
    describe();
    follow();
  });
  on("show tree", () => want("tree"));
  pic.addEventListener("dblclick", (event) => {
    const inside = shown?.edges?.[main.graph.edgeAt(event.target)]?.inside ?? [];
    if (inside.length && isLive) unfold(inside);
    const id = event.target.closest(".node.folded")?.dataset.id?.replace(/^state-/, "");
    if (id && shown?.tree) tree.unfold(shown.tree.nodes[Number(id)].path);
  });
  on("live rules", (names) => main.graph.rules(names));
  on("example", (example) => {
    if (example.tab) wanted = example.tab;
  }); // a link or a draft says where it was looked at
  let model = state.model; // the event also says how far the model is loaded
  on("model", () => {
    if (state.model === model) return;
    model = state.model;
    if (!state.compiled?.ok || !state.drawn) return;
    if (state.tab === "together") main.flags(true);
    else if (["tokens", "proper", "detokenizer"].includes(state.tab)) draw();
  });

  createWalkthrough(find, pic.closest(".picturecard"));
  find(".zoom").addEventListener("click", (event) => {
    const act = event.target.closest("button")?.dataset.act;
    if (act === "in") main.graph.zoom(0.75);
    if (act === "out") main.graph.zoom(1.33);
    if (act === "fit") main.graph.fit();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "g" && pic.hidden && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping())
      element.querySelector(".stage > :not([hidden]) [tabindex='0']")?.focus();
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping() || state.view !== "workbench")
      return;
    event.preventDefault();
    if (!FINDABLE.includes(state.tab)) open(state.compiled?.tabs?.characters ? "rules" : "characters");
    search.focus();
  });
  layout();
}
