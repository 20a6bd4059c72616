/* The card of downloads: files of every kind, and the run as code. */

import { createLatest } from "./ask.js";
import { copyText, createButton, debounce, download, el, markChosen, onPress, roving, showNotice } from "./dom.js";
import { exportFiles } from "./export.js";
import { exportEntries } from "./export-menu.js";
import { createFold } from "./fold.js";
import { spoken } from "./measures.js";
import { chatOf, fileNameNow, grammarOf, nameNow, on, state } from "./state.js";
import { saved } from "./storage.js";
import { formatNumber } from "./tokens.js";
import { work } from "./work.js";

/** @typedef {{
      tabs: HTMLElement, pre: HTMLElement, programs: (Record<string, string> & { fault?: string }) | null,
      stale: boolean, seen: boolean, groups: { name: string, of: (() => string) | null, detail: HTMLElement,
      buttons: HTMLButtonElement[] }[],
      writing: ReturnType<typeof createLatest>, soon: ReturnType<typeof debounce>,
      server: Server,
    }} TakeawayCard */

const FINITE = "A machine with a stack is not finite: take it as JSON";
const MACHINES = {
  characters: "character automaton",
  tokens: "token automaton",
  stack: "stack machine",
  rules: "rules",
  detokenizer: "detokenizer",
};

/** @import { Context, Server } from "./wire" */
/** After these events the export may be another one. */
const EVENTS = /** @type {const} */ (["compiled", "drawn", "finished", "step", "example"]);

const machineNow = () =>
  state.tab in MACHINES ? state.tab : state.compiled?.tabs?.characters ? "rules" : "characters";

/** Whether the machine that is shown has a stack: then it is not finite. */
const stacked = () =>
  ["stack", "rules"].includes(machineNow()) || (machineNow() === "tokens" && Boolean(state.compiled?.tabs?.characters));

/** A whole machine, written by the server. @param {TakeawayCard} card @param {import("./ask.js").Ask} ask */
async function machine(card, ask, form) {
  const answer = await ask(card.server.take_machine, { ...grammarOf(state), machine: machineNow(), form });
  if (answer.fault) {
    showNotice(answer.fault);
    return;
  }
  download(
    `${fileNameNow()}-${answer.name}`,
    answer.type,
    Uint8Array.from(atob(answer.base64), (c) => c.charCodeAt(0)),
  );
}

/** A button of the card. Some files take the server a moment: it is marked meanwhile. */
function fileButton([label, act, title]) {
  const latest = createLatest({
    busy: (waiting) => {
      if (waiting) button.setAttribute("aria-busy", "true");
      else button.removeAttribute("aria-busy");
    },
  });
  const onclick = () => latest.run(async (ask) => act(button, ask));
  const button = createButton(label, { class: label === "Replay" ? "primary" : null, title }, onclick);
  return button;
}

/** @param {TakeawayCard} card */
function show(card) {
  for (const { name, of, detail, buttons } of card.groups) {
    detail.textContent = of ? of() : "";
    for (const button of buttons) {
      const stack = button.textContent === "OpenFst" && stacked();
      button.disabled =
        (name === "Machine" && !state.compiled?.ok) ||
        (name === "Run" && (!state.steps.length || state.running)) ||
        Boolean(stack);
      if (button.textContent === "OpenFst")
        button.title = stack ? FINITE : "AT&T text with tables of symbols, in a zip";
    }
  }
}

/** @param {TakeawayCard} card */
const chosen = (card) => card.tabs.querySelector("[aria-selected=true]").dataset.code ?? "";

/** @param {TakeawayCard} card */
const print = (card) => {
  card.pre.textContent = card.programs?.[chosen(card)] ?? card.programs?.fault ?? "";
  card.pre.setAttribute("aria-label", `Code: ${chosen(card)}`);
};

/** Request the programs if they are visible and not up to date. @param {TakeawayCard} card */
function write(card) {
  if (!card.seen || !card.stale) return;
  card.stale = false;
  card.writing.run(async (ask) => {
    const held = work.now();
    card.programs = await ask(card.server.take_code, {
      code: chosen(card),
      ...held.settings,
      ...held,
      chat: chatOf(held),
      settings: undefined,
      example: nameNow(),
      address: location.origin + location.pathname,
    });
    print(card);
  });
}

/** @param {TakeawayCard} card */
const aged = (card) => {
  card.stale = true;
  card.soon();
};

/** @param {TakeawayCard} card */
const choose = (card, button) => {
  markChosen(card.tabs, "aria-selected", button);
  saved.set("code", button.dataset.code);
  print(card);
  if (card.programs && !(chosen(card) in card.programs)) {
    card.stale = true;
    card.soon.now();
  }
};

/** @typedef {[string, (button: HTMLElement, ask: import("./ask.js").Ask) => unknown, string]} Entry */

/** The groups of files: name, what they are, what each is of now, and its files.
    @param {TakeawayCard} card */
function groupsOf(card) {
  const { server } = card;
  /** @type {[string, string, (() => string) | null, Entry[]][]} */
  return [
    [
      "Grammar",
      "The current text and its tests with their expected results.",
      null,
      [
        ["Grammar file", exportFiles.grammar, "The current text"],
        ["Tests", exportFiles.tests, "The texts to try with what is expected of each, as JSON"],
      ],
    ],
    [
      "Machine",
      "Pictures look as they look here; JSON and OpenFst hold the whole machine, however large.",
      () => MACHINES[machineNow()],
      [
        ["SVG", exportFiles.svg, "The picture as it looks now"],
        ["PNG", exportFiles.png, "The same, twice as large"],
        ["DOT", exportFiles.dot, "For Graphviz"],
        ["JSON", (_button, ask) => machine(card, ask, "json"), "The whole machine: states and edges"],
        ["OpenFst", (_button, ask) => machine(card, ask, "fst"), "AT&T text with tables of symbols, in a zip"],
      ],
    ],
    [
      "Run",
      "A replay is one page that plays the run with its machines: it opens from disk, in any " +
        "browser, without a server. The embed code shows it inside another page.",
      () => (state.steps.length ? `${formatNumber(spoken(state.steps).length)} tokens` : "nothing generated yet"),
      [
        [
          "Replay",
          (_button, ask) => exportFiles.replay(ask, server),
          "One page that plays the run with its machines: opens anywhere, needs no server",
        ],
        [
          "Copy embed code",
          (button, ask) => exportFiles.embed(ask, server, button),
          "HTML for your own page that holds the whole replay: a frame without a file or a request",
        ],
        [
          "Copy frame",
          exportFiles.embedFile,
          "A line of HTML that shows the replay's file, from the same folder as your page",
        ],
        ["Text", exportFiles.text, "What was generated"],
        ["CSV", exportFiles.csv, "A row a token"],
        ["NDJSON", exportFiles.ndjson, "Every record; workbench replay makes a page of it"],
      ],
    ],
  ];
}

/** A group of files as elements. @param {HTMLElement} files */
function addGroup(files, [name, says, of, acts]) {
  const detail = el("span.quiet");
  const buttons = acts.map(fileButton);
  files.append(
    el(
      "div.group",
      { role: "group", "aria-label": name },
      el("h3", name, " ", detail),
      el("div.acts", ...buttons),
      el("p.quiet", says),
    ),
  );
  return { name, of, detail, buttons };
}

/** Formats that the menu of the picture card cannot make itself. @param {TakeawayCard} card */
function addEntries(card) {
  const whole = createLatest(),
    isMachine = () => state.tab in MACHINES;
  exportEntries.add?.("Download PNG", exportFiles.png);
  exportEntries.add?.("Whole machine as JSON", () => whole.run((ask) => machine(card, ask, "json")), isMachine);
  const asFst = () => whole.run((ask) => machine(card, ask, "fst"));
  exportEntries.add?.("Whole machine as OpenFst text", asFst, () => isMachine() && !stacked());
}

/** @param {Context} context */
export function mountTakeaway({ element, server }) {
  const files = element.querySelector(".files");
  const tabs = element.querySelector(".code .tabs");
  const pre = element.querySelector("pre");
  const copy = element.querySelector(".copycode");
  createFold(element.querySelector(".fold"), element.querySelector(".halves"), "export");
  for (const name of EVENTS) on(name, () => setTimeout(() => show(card), 0));
  const writing = createLatest();
  const soon = debounce(400, () => write(card));
  /** @type {TakeawayCard} */
  const card = { tabs, pre, programs: null, stale: true, seen: false, groups: [], writing, soon, server };
  card.groups = groupsOf(card).map((group) => addGroup(files, group));
  for (const name of /** @type {const} */ (["compiled", "example", "model"])) on(name, () => aged(card));
  document.addEventListener("input", () => aged(card), { capture: true, passive: true });
  new IntersectionObserver(
    (entries) => {
      card.seen = entries[entries.length - 1].isIntersecting;
      if (card.seen) soon();
    },
    { rootMargin: "200px" },
  ).observe(pre);
  onPress(tabs, (button) => choose(card, button));
  roving(tabs, (button) => choose(card, button));
  copy.addEventListener("click", async () => {
    soon.now();
    await copyText(pre.textContent, copy);
  });
  const kept = tabs.querySelector(`[data-code="${saved.get("code", "python")}"]`);
  if (kept) markChosen(tabs, "aria-selected", kept);
  on("ready", () => {
    addEntries(card);
    show(card);
  });
}
