/* The header and the footer: example, view, theme, help, the model that runs, the introduction and the links. */

import { parameters, setParameters } from "./address.js";
import { createLatest, sleep } from "./ask.js";
import {
  createButton,
  createDialog,
  createMenu,
  createToolbar,
  editName,
  el,
  isPageKey,
  markChosen,
  onPress,
  roving,
  showNotice,
} from "./dom.js";
import { createDraftsMenu, draftOptions, drafts, placeDraftLine } from "./drafts.js";
import {
  emit,
  grammarKey,
  LONGEST_TITLE,
  nameGrammar,
  OWN_TITLE,
  on,
  reportCompiling,
  state,
  TABS,
  titleNow,
  usualTitle,
} from "./state.js";
import { saved } from "./storage.js";
import { toggleTheme } from "./theme.js";
import { linkedWork, shareWork } from "./work.js";

/** @typedef {{
      button: HTMLElement, name: HTMLElement, list: HTMLElement, form: HTMLElement, closed: HTMLElement,
      sheet: ReturnType<typeof createMenu>, token: string,
      looking: ReturnType<typeof createLatest>, server: Server,
    }} ModelMenu */

/** @import { ExampleName, OpeningContext, Server } from "./wire" */
/** The token of the page's owner, out of the address, which loses it: links and screenshots show the address. It is
    kept until the tab is closed. */
function ownerToken() {
  const given = parameters().get("token");
  if (given) setParameters({ token: null });
  try {
    if (given) sessionStorage.setItem("wb:token", given);
    return sessionStorage.getItem("wb:token") ?? "";
  } catch {
    return given ?? "";
  }
}

/** How to open a model that is not in the menu, where this visitor cannot. */
const HOW = {
  true: "To open another model, use the address with ?token=… that workbench serve printed.",
  false: "To use another model, serve the page yourself: workbench serve --open-models, or --model NAME.",
};

/** What "Break it" can be pressed for: its text with the piece, its replacement and what then happens.
    @typedef {{ text: string, breaks: string[] }} BreakableExample */

/* The introduction: one sentence about what the page shows, and three things to try. "Break it" changes one rule of
   the example and runs the model again: the first token that differs from the run before is selected. The same button
   restores the example and its run. */
function createIntro(box) {
  const line = box.querySelector("p"),
    breaks = box.querySelector(".break"),
    own = box.querySelector(".own");
  const WHAT = "A grammar decides which tokens a language model may write. ";
  const OWN = {
    notation: "regex",
    text: "(- [A-Za-z ]{3,24}\\n){3}",
    prompt: "A shopping list:\n",
    from: "own",
  };
  /** What to do next, by whether a finished run is on the page. */
  const NEXT = {
    true: "Click a token to see what the model preferred there.",
    false: "Press Run to let the model write under it.",
  };
  const FROM = {
    own: "Edit this grammar: the picture follows as you type. ",
    link: "This grammar was shared with you. ",
    draft: "This is your draft. ",
    lesson: "This grammar is from a lesson. ",
  };
  /** @type {BreakableExample | null} the example before "Break it" */
  let broken = null;

  /** @param {BreakableExample} example */
  const brokenText = ({ text, breaks: [piece, other] }) => text.replace(piece, () => other).trimEnd();
  /** Whether a finished run of this grammar is shown. */
  const ran = () => state.steps.length > 0 && !state.running && state.ran === grammarKey(state);
  const show = (opening = false) => {
    const { example } = state;
    // both replace the whole text: they are not offered for one that was edited
    const untouched =
      opening || (state.notation === example?.notation && state.text.trimEnd() === example?.text?.trimEnd());
    breaks.hidden = !broken && !(example?.breaks && untouched);
    breaks.textContent = broken ? "Undo the break" : "Break it";
    own.hidden = !(untouched || broken) || (!example?.name && (example?.from ?? "own") === "own");
    const said = broken
      ? broken.breaks[2]
      : (FROM[example?.from ?? ""] ?? (example?.name ? WHAT : FROM.own)) + NEXT[ran()];
    if (line.textContent !== said) line.textContent = said;
  };

  breaks.addEventListener("click", () => {
    const example = broken ?? /** @type {BreakableExample} */ (state.example);
    broken = broken ? null : example;
    const text = broken ? brokenText(broken) : example.text.trimEnd(),
      piece = example.breaks[broken ? 1 : 0];
    emit("rewrite", { text, run: Boolean(broken), restore: !broken });
    const start = [...text.slice(0, example.text.indexOf(example.breaks[0]))].length;
    emit("place", { start, end: start + [...piece].length }); // select the piece that changed
    show();
  });
  own.addEventListener("click", () => {
    emit("open", OWN);
    emit("focus editor", { end: true });
  });
  box.querySelector(".lessons").addEventListener("click", () => emit("look", "learn"));
  box.querySelector(".away").addEventListener("click", () => {
    box.hidden = true;
    saved.set("intro", "away");
  });

  on("example", () => {
    broken = null;
    show(true);
  });
  on("compiled", (compiled) => {
    if (broken && compiled.text.trimEnd() !== brokenText(broken)) broken = null;
    show();
  });
  for (const event of /** @type {const} */ (["step", "finished", "typed"])) on(event, () => show());
  box.hidden = saved.get("intro") === "away";
  show();
}

/* The name of the grammar: the picker shows it, the button and F2 edit it, and it is the title of the page. */
/** @param {HTMLSelectElement} picker @param {HTMLOptionElement} other the option of what is not in the gallery
    @param {HTMLButtonElement} button
    @returns a function that begins with a grammar */
function createTitle(picker, other, button) {
  const { title: application } = document;
  let edited = false; // whether the text of the gallery's example was changed
  function show() {
    const { name } = state.example,
      index = state.ownTitle || edited ? -1 : state.gallery.findIndex((example) => example.name === name);
    other.textContent = titleNow() + (edited && !state.ownTitle && !state.own ? " · edited" : "");
    picker.value = index < 0 ? "" : String(index);
    document.title = `${titleNow()} · ${application}`;
  }
  on("titled", show);
  for (const event of /** @type {const} */ (["typed", "switch"]))
    on(event, () => {
      edited = Boolean(state.example.name);
      show();
    });
  // the text of an example, also after changes that were undone
  on("compiled", ({ example }) => {
    edited &&= !example;
    show();
  });
  const rename = () =>
    editName(picker, { value: titleNow(), longest: LONGEST_TITLE, label: "Name of the grammar" }, (name, focused) => {
      if (name !== null) nameGrammar(name === usualTitle() ? "" : name);
      if (focused) picker.focus();
    });
  button.addEventListener("click", rename);
  picker.addEventListener("keydown", ({ key }) => {
    if (key === "F2") rename();
  });
  return (example) => {
    state.example = example;
    edited = false;
    emit("example", example);
    emit("titled");
  };
}

/* The header: example, view, theme, help. On a narrow page it is one line with a menu, and a bar at the lower edge has
   links to the parts of the page. */
/** A narrow page: the header is one line with a menu. @param {(selector: string) => HTMLElement} find */
function foldHeader(find) {
  const header = find(".header"),
    views = find(".views");
  const more = find(".morebutton"),
    box = find(".more"),
    narrow = matchMedia("(max-width: 520px)");
  function unfold(open) {
    header.classList.toggle("open", open);
    more.setAttribute("aria-expanded", String(open));
  }
  more.addEventListener("click", () => unfold(!header.classList.contains("open")));
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (
      target instanceof Element &&
      !more.contains(target) &&
      (!box.contains(target) || target.closest(".views, .share, .helpbutton"))
    )
      unfold(false);
  });
  header.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && header.classList.contains("open")) {
      unfold(false);
      more.focus();
    }
  });
  const place = () => {
    if (narrow.matches) box.prepend(views);
    else find(".mark").after(views);
  };
  narrow.addEventListener("change", place);
  place();
}

/** The bar at the lower edge of a narrow page has links to its parts. @param {HTMLElement} element */
function linkParts(element) {
  const parts = [...element.querySelectorAll(".parts button")];
  const target = (button) => document.querySelector(button.dataset.to);
  for (const button of parts)
    button.addEventListener("click", () =>
      scrollTo({ top: button === parts[0] ? 0 : target(button).getBoundingClientRect().top + scrollY - 8 }),
    );
  /** Mark the part that is in the middle of the window. */
  function seen() {
    const here = parts.findLast((button) => target(button).getBoundingClientRect().top < innerHeight / 2) ?? parts[0];
    for (const button of parts) button.setAttribute("aria-current", String(button === here));
  }
  let asked = 0;
  addEventListener(
    "scroll",
    () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(seen);
    },
    { passive: true },
  );
  on("ready", () => new ResizeObserver(seen).observe(document.body));
}

/** The upper row is as high as the window leaves it under the header and over the run. @param {HTMLElement} header */
function measureHeader(header) {
  const measure = () => document.documentElement.style.setProperty("--header", `${header.offsetHeight}px`);
  on("ready", () => {
    measure();
    new ResizeObserver(measure).observe(header);
  });
}

/** The views of the page; returns what opens one. @param {HTMLElement} views */
function createViews(views) {
  function look(view) {
    if (state.view === view) return;
    state.view = view;
    document.body.dataset.view = view;
    markChosen(views, "aria-checked", views.querySelector(`[data-view="${view}"]`));
    scrollTo({ top: 0 });
    emit("view", view);
  }
  const lookAt = (button) => look(button.dataset.view);
  onPress(views, lookAt);
  roving(views, lookAt);
  on("look", look);
  return look;
}

/** The keys of the page. @param {(view: string) => void} look @param {() => void} openHelp */
function bindPageKeys(look, openHelp) {
  document.addEventListener("keydown", (event) => {
    if (!isPageKey(event)) return;
    const go = (act) => {
      event.preventDefault();
      act();
    };
    if (event.key === "?") go(openHelp);
    const view = { l: "learn", c: "compare" }[event.key];
    if (view) go(() => look(state.view === view ? "workbench" : view));
    if (state.view !== "workbench") return;
    if (event.key === "g") go(() => document.querySelector("#wb-picture .pic").focus());
    if (event.key === "e") go(() => emit("focus editor"));
    if (event.key === "t") {
      const token = document.querySelector("#wb-run .tok[tabindex='0']");
      if (token) go(() => token.focus());
    }
  });
}

/** The menu of the gallery and of the drafts; returns what fills it.
    @param {HTMLSelectElement} picker @param {ExampleName[]} gallery @param {HTMLOptionElement} other */
function createPicker(picker, gallery, other) {
  const options = gallery.map(({ group, title }, index) => ({ group, option: el("option", { value: index }, title) })),
    groups = Map.groupBy(options, ({ group }) => group);
  return () => {
    const chosen = picker.value;
    picker.replaceChildren(
      other,
      draftOptions(),
      ...[...groups].map(([label, members]) => el("optgroup", { label }, ...members.map(({ option }) => option))),
    );
    picker.querySelector("optgroup").hidden = !drafts.list().length;
    picker.value = [...picker.options].some((option) => option.value === chosen) ? chosen : "";
  };
}

/** @param {HTMLElement} button */
function bindTheme(button) {
  const show = (isDark) => button.setAttribute("aria-label", isDark ? "Switch to light" : "Switch to dark");
  button.addEventListener("click", toggleTheme);
  on("theme", show);
  show(document.documentElement.dataset.theme === "dark");
}

/** What a grammar that is not in the gallery has, unless it brings its own. */
const NOT_IN_GALLERY = {
  name: "",
  title: OWN_TITLE,
  note: "",
  start: "start",
  options: {},
  prompt: "",
  system: null,
  tests: [],
  accepts: [],
  rejects: [],
};

/** @param {OpeningContext} context */
export function mountHeader({ element, server, opening: page }) {
  const find = (selector) => element.querySelector(selector);
  const picker = find("select"),
    header = find(".header");
  state.gallery = page.gallery;
  state.methods = page.methods;
  state.space = page.space;
  state.results = page.results;

  /** The name of a grammar that is not in the gallery: the person's own, a draft, a link. */
  const other = el("option", { value: "", hidden: true }, OWN_TITLE);
  const fill = createPicker(picker, page.gallery, other);
  fill();
  on("drafts", fill);
  find(".bench").append(createDraftsMenu());
  placeDraftLine(find(".intro"), header);
  const begin = createTitle(picker, other, find(".renamebutton"));

  const opening = createLatest();
  function open(index, first) {
    const { name } = page.gallery[index];
    picker.value = String(index);
    opening.run(async (ask) => {
      const example = name === page.first?.name ? page.first : await ask(server.open_example, { name });
      if ("fault" in example) showNotice(String(example.fault));
      else begin({ ...example, first: Boolean(first) });
    });
  }
  picker.addEventListener("change", () => {
    if (picker.value.startsWith("draft:")) drafts.open(picker.value.slice(6));
    else if (picker.value !== "") open(Number(picker.value));
  });

  bindTheme(find(".theme"));

  const look = createViews(find(".views"));
  const openHelp = createDialog(find("dialog"));
  find(".helpbutton").addEventListener("click", openHelp);
  on("help", openHelp);
  bindPageKeys(look, openHelp);
  find(".share").addEventListener("click", (event) => shareWork(event.target));

  foldHeader(find);
  linkParts(element);
  measureHeader(header);
  createModelMenu(find(".models"), server);
  createIntro(find(".intro"));
  createToolbar(find(".more"), "Page", ".menu > button, .share, .theme, .helpbutton");
  createToolbar(find(".intro"), "First steps", "button");

  /** Open a grammar that is not in the gallery: a shared link, a lesson's grammar, a draft. */
  function show(example) {
    opening.drop();
    state.example = example;
    look("workbench");
    if (example.tab) state.tab = example.tab;
    begin(example);
  }
  on("open", (example) => show({ ...NOT_IN_GALLERY, ...example }));

  on("ready", async () => {
    const asked = parameters();
    const own = (await linkedWork()) || (asked.get("example") ? null : drafts.kept());
    if (own) {
      show(own);
      return;
    }
    const wanted = page.gallery.findIndex((example) => example.name === asked.get("example"));
    state.tab = TABS.find((tab) => tab === asked.get("tab")) ?? state.tab;
    if (page.gallery.length) open(Math.max(0, wanted), true);
  });
  state.view = null;
  look("workbench");
}

/* The footer: lessons, API, About, keys, the version and the source. */
/** @param {OpeningContext} context */
export function mountFooter({ element, server, opening: { version, source } }) {
  const find = (selector) => element.querySelector(selector);
  const sheet = find("dialog"),
    open = createDialog(sheet);
  if (version) find(".version").textContent = `Version ${version}`;
  if (source) find(".version").after(el("a", { href: source, target: "_blank", rel: "noopener" }, "Source"));

  find(".learn").addEventListener("click", () => emit("look", "learn"));
  find(".keys").addEventListener("click", () => emit("help"));
  const latest = createLatest();
  find(".about").addEventListener("click", () => {
    open();
    latest.run(async (ask) => fill(await ask(server.about, {})));
  });
  function fill(answer) {
    const list = (pairs) => (pairs || []).flatMap(([name, value]) => [el("dt", name), el("dd", value)]);
    sheet
      .querySelector(".versions")
      .replaceChildren(...list(answer.fault ? [["server", answer.fault]] : answer.versions));
    sheet.querySelector(".limits").replaceChildren(...list(answer.limits));
  }
}

/** @param {ModelMenu} models */
function draw(models, answer) {
  models.button.className = `model ${answer.state}`;
  models.name.textContent = answer.text;
  models.button.title = answer.title || "";
  models.form.hidden = !(answer.may_open && models.token);
  models.closed.hidden = !models.form.hidden;
  models.closed.textContent = HOW[Boolean(answer.may_open)];
  models.list.replaceChildren(
    ...(answer.models || []).map((each) => {
      const chosen = each.name === state.model || (!state.model && each === answer.models[0]);
      const [title, size] = each.text.split(" · ");
      return el(
        "li",
        createButton(
          [
            el("i"),
            el("span.name", title),
            el("span.quiet", size || ""),
            each.about ? el("span.quiet.about", each.about) : "",
          ],
          { "aria-pressed": String(chosen), class: `model ${each.state}`, title: each.title },
          () => choose(models, each.name),
        ),
      );
    }),
  );
}

/** @param {ModelMenu} models */
function fail(models, fault) {
  models.button.className = "model failed";
  models.name.textContent = fault;
}

/** Ask for the state of the model, and again while it is loaded or kernels are compiled. @param {ModelMenu} models */
const look = (models) =>
  models.looking.run(async (ask, wait) => {
    for (let isReady = false; !isReady; ) {
      const answer = await ask(models.server.model_state, {});
      if (answer.fault) {
        fail(models, answer.fault);
        return;
      }
      draw(models, answer);
      emit("model", { ...answer, name: state.model });
      reportCompiling(answer.compiling);
      isReady = answer.state !== "loading" && !answer.compiling;
      if (!isReady) await wait(sleep(700));
    }
  });

/** Another model: other tokens, so everything drawn or decoded over tokens is another. @param {ModelMenu} models */
function choose(models, wanted) {
  models.sheet.close();
  if (wanted === state.model) return;
  state.model = wanted;
  look(models);
  emit("compile now");
}

/* The model that runs: those the page offers, and for its owner any other by its directory or hub id. */
function createModelMenu(box, server) {
  const button = box.querySelector("button.model");
  const form = box.querySelector("form");
  const input = form.querySelector("input");
  const token = ownerToken();
  const looking = createLatest();
  const opening = createLatest();
  /** @type {ModelMenu} */
  const models = {
    button,
    name: box.querySelector(".name"),
    list: box.querySelector("ul"),
    form,
    closed: box.querySelector(".closed"),
    sheet: createMenu(box),
    token,
    looking,
    server,
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = input.value.trim();
    if (!wanted) return;
    opening.run(async (ask) => {
      const answer = await ask(server.open_model, { model: "", name: wanted, token });
      if (answer.fault) fail(models, answer.fault);
      else choose(models, answer.name);
    });
  });
  on("ready", () => look(models));
  on("slow answer", () => {
    if (!looking.waits) look(models);
  });
  on("busy", (waiting) =>
    showNotice(
      `The server is busy: ${waiting === 1 ? "1 question waits" : `${waiting} questions wait`}. Trying again…`,
    ),
  );
}
