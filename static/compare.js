/* The view that compares methods: requests a comparison and shows its records as they arrive. */

import { parameters, setParameters } from "./address.js";
import { createLatest } from "./ask.js";
import { createAuditCard } from "./compare-audit.js";
import { createCompareChoice } from "./compare-choice.js";
import { createExactCard } from "./compare-exact.js";
import { createOpening, listenToFiles, openRun } from "./compare-open.js";
import { clear, compare, fail, readRecord, showMethods, stop } from "./compare-records.js";
import { compareSample, introduce } from "./compare-samples.js";
import { createCompareTable } from "./compare-table.js";
import { busy, fold, ready, showFault, showGrammar } from "./compare-view.js";
import { isDialogOpen } from "./dom.js";
import { shades } from "./measures.js";
import { createAnnouncer } from "./panel.js";
import { cards, emit, grammarOf, on, onBegun, state } from "./state.js";
import { createStream } from "./stream.js";

/** @import { CompareView } from "./compare-view" */
/** @import { Context } from "./wire" */

/** @param {CompareView} view */
function listenToButtons(view) {
  view.buttons.fold.addEventListener("click", () =>
    fold(view, view.buttons.fold.getAttribute("aria-expanded") === "true"),
  );
  view.find(".edit").addEventListener("click", () => {
    emit("look", "workbench");
    emit("focus editor");
  });
  view.buttons.go.addEventListener("click", () => compare(view));
  view.buttons.halt.addEventListener("click", () => stop(view));
  document.addEventListener("keydown", (event) => {
    if (state.view !== "compare" || isDialogOpen()) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      compare(view);
    }
    if (event.key === "Escape" && view.comparison?.running) stop(view);
  });
}

/** @param {CompareView} view */
function listenToPage(view) {
  on("typed", () => busy(view));
  on("compiled", () => showCompiled(view));
  on("example", (example) => showExample(view, example));
  on("view", (name) => showView(view, name));
}

/** @param {CompareView} view */
function showCompiled(view) {
  showGrammar(view);
  if (view.eager && ready(view)) {
    view.eager = false;
    compare(view);
  }
}

/** @param {CompareView} view */
function showExample(view, example) {
  if (view.comparison?.running) stop(view, "stopped by another example");
  clear(view);
  if (example.compare) {
    view.choice.apply(example.compare);
    setTimeout(() => emit("look", "compare"));
  }
}

/** @param {CompareView} view */
const load = (view) =>
  view.listing.run(async (ask) => {
    const answer = await ask(view.server.contender_list, {});
    if (answer.fault) showFault(view, answer.fault);
    else {
      view.choice.load(answer);
      view.audit.offer(answer.engines);
    }
    busy(view);
  });

/** The address says which view is open. @param {CompareView} view */
function showView(view, name) {
  setParameters({ compare: name === "compare" ? "" : null });
  if (name === "compare") {
    if (!view.choice.loaded()) load(view);
    introduce(view);
    showGrammar(view);
  }
}

/** What the address names is shown, and else the file that the page is served with. @param {CompareView} view */
function openFirst(view) {
  const place = parameters();
  const named = ["example", "learn", "exercise"].some((key) => place.has(key)) || /^#[gxc]=/.test(location.hash);
  if (place.has("compare") || (state.results && !named)) {
    if (place.get("compare")) view.choice.apply({ methods: String(place.get("compare")).split(",") });
    onBegun(() => emit("look", "compare"));
  }
}

/** The state, and the parts of the view. @param {Context} context @returns {CompareView} */
function createView({ element, server }) {
  const find = (selector) => element.querySelector(selector);
  /** @type {Partial<CompareView>} */
  const parts = {
    element,
    server,
    find,
    buttons: { go: find(".go"), halt: find(".halt"), fold: find("button.fold") },
    wait: find(".wait"),
    meter: find(".meter"),
    bar: find(".meter i"),
    fault: find(".runerr"),
    scroll: find(".scroll"),
    blank: find(".results .blank"),
    key: find(".key"),
    given: find(".given pre"),
    stored: find(".stored"),
    chooser: find(".stored input"),
    aloud: createAnnouncer(find(".aloud")),
    comparison: null,
    dirty: new Set(),
    choiceFault: "",
    progressText: "",
    samples: [],
    resultsCard: null,
    eager: false,
    recorded: "",
    opening: createOpening(() => view),
    introducing: createLatest({ subject: () => view.comparison }),
    listing: createLatest(),
  };
  const view = /** @type {CompareView} */ (parts);
  view.choice = createCompareChoice(find, {
    changed: (plan, fault) => {
      find(".plan").textContent = plan;
      view.choiceFault = fault;
      if (view.choice) busy(view);
    },
  });
  const { about } = view.choice;
  view.table = createCompareTable(find("table"), { open: (run) => openRun(view, run), about });
  view.exact = createExactCard(find(".exact"), {
    distribution: (ask, sent) => ask(server.distribution, sent),
    about,
    small: () => compareSample(view, view.samples[0]),
  });
  view.audit = createAuditCard(find(".audit"), (ask) => ask(server.audit_engines, grammarOf(state)));
  view.incoming = createStream("compare", {
    take: (message) => readRecord(view, message),
    arrived: () => {
      if (view.comparison) showMethods(view, view.dirty);
    },
    dropped: (message, hint) => fail(view, message, hint),
  });
  return view;
}

/** @param {Context} context */
export function mountCompare(context) {
  const view = createView(context);
  view.find(".legend").append(shades.legend("surprisal", []));
  listenToFiles(view);
  listenToButtons(view);
  listenToPage(view);
  openFirst(view);
  cards.compare = { settings: () => (state.view === "compare" ? view.choice.settings() : undefined) };
  busy(view);
}
