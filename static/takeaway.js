/* The card of downloads: files of every kind, and the run as code. */

import { createLatest } from "./ask.js";
import { copyText, debounce, download, el, markChosen, roving, showNotice } from "./dom.js";
import { exportFiles } from "./export.js";
import { createFold } from "./fold.js";
import { spoken } from "./measures.js";
import { exportEntries } from "./picture-tools.js";
import { chatOf, fileNameNow, grammarOf, nameNow, on, state } from "./state.js";
import { saved } from "./storage.js";
import { formatNumber } from "./tokens.js";
import { work } from "./work.js";

/** @import { Context } from "./wire" */

/** After these events the export may be another one. */
const EVENTS = /** @type {const} */ (["compiled", "drawn", "finished", "step", "example"]);

/** @param {Context<"takeaway">} context */
export function mountTakeaway({ element, server }) {
  const files = element.querySelector(".files"),
    tabs = element.querySelector(".code .tabs"),
    pre = element.querySelector("pre"),
    copy = element.querySelector(".copycode");
  const MACHINES = {
    characters: "character automaton",
    tokens: "token automaton",
    stack: "stack machine",
    rules: "rules",
    detokenizer: "detokenizer",
  };
  createFold(element.querySelector(".fold"), element.querySelector(".halves"), "export");
  let programs = /** @type {(Record<string, string> & { fault?: string }) | null} */ (null),
    stale = true,
    seen = false;

  // -- files ------------------------------------------------------------------------------------
  const machineNow = () =>
    state.tab in MACHINES ? state.tab : state.compiled?.tabs?.characters ? "rules" : "characters";

  /** Whether the machine that is shown has a stack: then it is not finite. */
  const stacked = () =>
    ["stack", "rules"].includes(machineNow()) ||
    (machineNow() === "tokens" && Boolean(state.compiled?.tabs?.characters));

  /** A whole machine, written by the server. @param {import("./ask.js").Ask} ask */
  async function machine(ask, form) {
    const answer = await ask(server.take_machine, { ...grammarOf(state), machine: machineNow(), form });
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

  const FINITE = "A machine with a stack is not finite: take it as JSON";
  /** @typedef {[string, (button: HTMLElement, ask: import("./ask.js").Ask) => any, string]} Entry */
  /** @type {[string, string, (() => string) | null, Entry[]][]} */
  const GROUPS = [
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
        ["JSON", (_button, ask) => machine(ask, "json"), "The whole machine: states and edges"],
        ["OpenFst", (_button, ask) => machine(ask, "fst"), "AT&T text with tables of symbols, in a zip"],
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
  /** A button of the card. Some files take the server a moment: it is marked meanwhile. */
  function fileButton([label, act, title]) {
    const latest = createLatest({
      busy: (waiting) => {
        if (waiting) button.setAttribute("aria-busy", "true");
        else button.removeAttribute("aria-busy");
      },
    });
    const onclick = () => latest.run(async (ask) => act(button, ask));
    const button = el(
      "button",
      { type: "button", class: label === "Replay" ? "primary" : null, title, onclick },
      label,
    );
    return button;
  }
  const groups = GROUPS.map(([name, says, of, acts]) => {
    const detail = el("span", { class: "quiet" });
    const buttons = acts.map(fileButton);
    files.append(
      el(
        "div",
        { class: "group", role: "group", "aria-label": name },
        el("h3", {}, name, " ", detail),
        el("div", { class: "acts" }, ...buttons),
        el("p", { class: "quiet" }, says),
      ),
    );
    return { name, of, detail, buttons };
  });

  function show() {
    for (const { name, of, detail, buttons } of groups) {
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
  for (const name of EVENTS) on(name, () => setTimeout(show, 0));

  // -- code -------------------------------------------------------------------------------------
  const chosen = () => tabs.querySelector("[aria-selected=true]").dataset.code;
  const print = () => {
    pre.textContent = programs?.[chosen()] ?? programs?.fault ?? "";
    pre.setAttribute("aria-label", `Code: ${chosen()}`);
  };

  /** Request the programs if they are visible and not up to date. */
  function write() {
    if (!seen || !stale) return;
    stale = false;
    writing.run(async (ask) => {
      const held = work.now();
      programs = await ask(server.take_code, {
        code: chosen(),
        ...held.settings,
        ...held,
        chat: chatOf(held),
        settings: undefined,
        example: nameNow(),
        address: location.origin + location.pathname,
      });
      print();
    });
  }
  const writing = createLatest();
  const soon = debounce(400, write);
  const aged = () => {
    stale = true;
    soon();
  };
  for (const name of /** @type {const} */ (["compiled", "example", "model"])) on(name, aged);
  document.addEventListener("input", aged, { capture: true, passive: true });
  new IntersectionObserver(
    (entries) => {
      seen = entries[entries.length - 1].isIntersecting;
      if (seen) soon();
    },
    { rootMargin: "200px" },
  ).observe(pre);

  const choose = (button) => {
    markChosen(tabs, "aria-selected", button);
    saved.set("code", button.dataset.code);
    print();
    if (programs && !(chosen() in programs)) {
      stale = true;
      soon.now();
    }
  };
  tabs.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) choose(button);
  });
  roving(tabs, choose);
  copy.addEventListener("click", async () => {
    soon.now();
    await copyText(pre.textContent, copy);
  });
  const kept = tabs.querySelector(`[data-code="${saved.get("code", "python")}"]`);
  if (kept) markChosen(tabs, "aria-selected", kept);

  // formats that the menu of the picture card cannot make itself
  const whole = createLatest();
  on("ready", () => {
    exportEntries.add?.("Download PNG", exportFiles.png);
    exportEntries.add?.(
      "Whole machine as JSON",
      () => whole.run((ask) => machine(ask, "json")),
      () => state.tab in MACHINES,
    );
    exportEntries.add?.(
      "Whole machine as OpenFst text",
      () => whole.run((ask) => machine(ask, "fst")),
      () => state.tab in MACHINES && !stacked(),
    );
    show();
  });
}
