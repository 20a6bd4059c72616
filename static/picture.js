/* The picture card: which machine is shown and how, what a selected state expects, and the export. */

import { parameters } from "./address.js";
import { createLatest } from "./ask.js";
import { createMenu, createToolbar, hasModifier, isTyping, onPress, roving, targetOf } from "./dom.js";
import { createEdgeList } from "./edge-list.js";
import { createExportMenu } from "./export-menu.js";
import { createFindBox } from "./find-box.js";
import { createMachine } from "./machine.js";
import { createRows } from "./machine-table.js";
import { addTikz } from "./picture-export.js";
import { describe } from "./picture-foot.js";
import { beyond, changeLook, createLevels, openRule, showLooks, unfold, unfoldAt } from "./picture-looks.js";
import { centre, dim, FINDABLE, requestOf, showCount } from "./picture-state.js";
import {
  draw,
  layout,
  list,
  open,
  pickState,
  showAnswer,
  showCompiled,
  showModel,
  showStep,
  showWhy,
  want,
} from "./picture-tabs.js";
import { createStack } from "./stack-boxes.js";
import { fileNameNow, grammarKey, on, state } from "./state.js";
import { saved } from "./storage.js";
import { createTreeTools } from "./tree.js";
import { createWalkthrough } from "./walkthrough.js";

/** @import { PictureCard } from "./picture-state" */
/** @import { Context, Server } from "./wire" */

/** A tab stop only where the keyboard is needed to scroll it. @param {HTMLElement} foot */
function makeScrollable(foot) {
  foot.tabIndex = foot.scrollHeight > foot.clientHeight ? 0 : -1;
}

/** @param {PictureCard} card */
function pressKey(card, event) {
  if (hasModifier(event) || isTyping()) return;
  if (event.key === "g" && card.pic.hidden)
    card.element.querySelector(".stage > :not([hidden]) [tabindex='0']")?.focus();
  if (event.key !== "/" || state.view !== "workbench") return;
  event.preventDefault();
  if (!FINDABLE.includes(state.tab)) open(card, state.compiled?.tabs?.characters ? "rules" : "characters");
  card.search.focus();
}

/** What other parts of the page say. @param {PictureCard} card */
function listenToPage(card) {
  on("looks", () => showLooks(card));
  on("open rule", (name) => openRule(card, name));
  on("compiling", () => dim(card));
  on("compiled", (compiled) => showCompiled(card, compiled));
  on("step", () => showStep(card));
  on("why", (record) => showWhy(card, record));
  on("show tree", () => want(card, "tree"));
  on("live rules", (names) => card.main.graph.rules(names));
  on("example", (example) => {
    if (example.tab) card.wanted = example.tab; // a link or a draft says where it was looked at
  });
  on("model", () => showModel(card));
}

/** Clicks on the card, and its keys. @param {PictureCard} card */
function listenToPicture(card) {
  for (const row of [card.tabs, card.more])
    row.addEventListener("click", (event) => {
      /** @type {HTMLButtonElement | null} */
      const button = targetOf(event).closest("[data-tab]");
      if (button && !button.disabled) {
        card.menuOfMore.close();
        want(card, button.dataset.tab);
      }
    });
  roving(card.tabs, (button) => want(card, button.dataset.tab));
  onPress(card.tools, (button) => changeLook(card, button));
  card.pic.addEventListener("dblclick", (event) => unfoldAt(card, event));
  card.find(".zoom").addEventListener("click", (event) => {
    const act = targetOf(event).closest("button")?.dataset.act;
    if (act === "in") card.main.graph.zoom(0.75);
    if (act === "out") card.main.graph.zoom(1.33);
    if (act === "fit") card.main.graph.fit();
  });
  document.addEventListener("keydown", (event) => pressKey(card, event));
}

/** What the card is made of; the picture reports to it. @param {Pick<Context, "element" | "server">} context
    @param {boolean} isLive @returns {PictureCard} */
function createCard({ element, server }, isLive) {
  const find = (selector) => element.querySelector(selector);
  const pic = find(".pic.main"),
    table = find(".tablebox"),
    stackbox = find(".stackbox");
  const main = createMachine(pic, server, {
    picked: (id) => pickState(card, id),
    edge: (edge) => {
      if (edge) card.edges.show(edge, card.shown, pic);
    },
    flag: (segment) => card.edges.show(segment.edge, card.shown, pic, segment.parts),
    shown: (answer, sent) => showAnswer(card, answer, sent),
    flagged: (answer) => {
      showCount(card, (answer.ok ? answer.count : answer.why) ?? "");
      state.flagged = main.over;
      state.flags = answer;
    },
    lost: (id) => {
      card.lost = id;
      describe(card);
    },
    beyond: (by, under) => beyond(card, by, under),
  });
  const aboutEdge = (ask, { source, target }, parts) =>
    ask(server.about_edge, { ...(parts ? { ...main.over, parts } : main.sent), source, target });
  /** @type {PictureCard} */
  const card = {
    element,
    server,
    find,
    tabs: find(".tabs"),
    more: find(".moretabs"),
    pic,
    table,
    foot: find(".foot"),
    stackbox,
    tools: find(".tools.looks"),
    isLive,
    built: [...element.querySelectorAll("button")].filter((button) => button.matches(".built")),
    titles: {},
    shown: null,
    picked: null,
    draft: false,
    why: null,
    listed: "",
    lost: "",
    wanted: parameters().get("tab") || saved.get("tab") || "together",
    model: state.model, // the event also says how far the model is loaded
    main,
    stack: createStack(stackbox),
    tree: createTreeTools(find, () => draw(card)),
    edges: createEdgeList(find(".edgebox"), aboutEdge, isLive ? (states) => unfold(card, states) : null),
    search: createFindBox(find(".findbox"), {
      find: (ask, query) => ask(server.find_states, requestOf({ query, of: card.listed })),
      go: (id) => centre(card, id),
    }),
    rows: createRows(table, {
      choose: (of) => {
        card.listed = of;
        list(card);
      },
      place: (id) => want(card, card.listed, id),
    }),
    menuOfMore: createMenu(find(".moretabs")),
    listing: createLatest({ subject: () => grammarKey(state.compiled) }),
    details: createLatest(),
    files: createLatest(),
    showLevel: createLevels(find(".levels"), () => draw(card, card.picked?.id || "")),
    exportsOf: createExportMenu(find(".exports"), () => `${fileNameNow()}-${state.tab}`),
  };
  return card;
}

/** @param {Pick<Context, "element" | "server">} context
    @param {{ createConstruction?: (dialog: HTMLDialogElement, buttons: HTMLButtonElement[],
      server: Server) => void }} [doors] what a replay lacks: it has the recorded pictures only */
export function mountPicture(context, { createConstruction } = {}) {
  const card = createCard(context, Boolean(createConstruction)),
    { find, foot } = card;
  createToolbar(find(".bar"), "Machines", ".menu > button, .bar > .built");
  createToolbar(card.tools, "How the picture is shown", ".switch, .findbox input");
  const updateStop = () => makeScrollable(foot);
  new ResizeObserver(updateStop).observe(foot);
  new MutationObserver(updateStop).observe(foot, { childList: true, subtree: true, characterData: true });
  addTikz(card);
  createConstruction?.(/** @type {HTMLDialogElement} */ (find("dialog")), card.built, card.server);
  find(".moretabs .built").addEventListener("click", card.menuOfMore.close);
  showLooks(card);
  listenToPage(card);
  listenToPicture(card);
  createWalkthrough(find, card.pic.closest(".picturecard"));
  layout(card);
}
