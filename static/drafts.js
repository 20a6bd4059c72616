/* Drafts in this browser: the one being typed, and those with a name; a menu to save, open, rename and delete them. */

import { createButton, createMenu, debounce, el, showNotice } from "./dom.js";
import { cleanTitle, emit, LONGEST_TITLE, nameGrammar, on, state } from "./state.js";
import { saved } from "./storage.js";
import { dropLink, work } from "./work.js";

/** @typedef {{
      status: HTMLElementTagNameMap["p"], list: HTMLElementTagNameMap["ul"],
      menu: ReturnType<typeof createMenu>,
    }} DraftsMenu */

const WAIT = 700; // milliseconds without a key until the draft is kept
const EARLIER = "Earlier draft";
const FULL = "the draft was not saved: browser storage is full or blocked";

/** @type {(ReturnType<typeof work.now> & { own?: boolean }) | null} */
let opened = null; // what was opened last: no draft until something in it is changed

let changed = false; // whether it was, since then

let forgotten = false;

const names = () => {
  const held = saved.get("yours", {});
  return held && typeof held === "object" ? held : {};
};

const put = (held) => {
  const done = saved.set("yours", held);
  emit("drafts", list());
  return done;
};

const last = () => {
  const held = saved.get("draft"),
    draft = work.checked(held);
  return draft && { ...draft, when: Number(held.when) || 0, left: Boolean(held.left) };
};

/** The drafts with a name, the newest first. */
function list() {
  return Object.entries(names())
    .map(([name, held]) => ({ name, when: Number(held?.when) || 0, ...work.checked(held) }))
    .filter((draft) => draft.notation)
    .sort((a, b) => b.when - a.when);
}

/** Save the page's work under a name, which becomes the grammar's. Returns "", or a sentence that says why it was not
    saved. */
function save(name) {
  if (!cleanTitle(name)) return "a draft needs a name";
  nameGrammar(name);
  const here = work.now();
  if (!put({ ...names(), [here.ownTitle]: { ...here, when: Date.now() } })) return FULL;
  opened = here;
  changed = false;
  discard();
  return "";
}

function remove(name) {
  const held = names();
  delete held[name];
  put(held);
}

function rename(name, other) {
  const held = names(),
    next = cleanTitle(other);
  if (!next || !(name in held)) return "a draft needs a name";
  if (next === name) return "";
  if (next in held) return `there is already a draft named ${next}`;
  held[next] = held[name];
  delete held[name];
  if (state.ownTitle === name) nameGrammar(next);
  return put(held) ? "" : FULL;
}

function open(name) {
  const held = work.checked(names()[name]);
  if (held) emit("open", { ...work.asExample({ ...held, ownTitle: name }, "Your draft"), from: "draft" });
}

const asDraft = (draft) => ({
  ...work.asExample(draft, "Your draft"),
  draft: true,
  from: "draft",
  compare: undefined,
});

/** The draft a visit begins with, as an example to be opened; null where it was left for another grammar. */
function kept() {
  const draft = last();
  return draft && !draft.left && draft.text.trim() ? asDraft(draft) : null;
}

/** Open the draft that was left. */
function reopen() {
  const draft = last();
  if (draft) emit("open", asDraft(draft));
}

function discard() {
  saved.remove("draft");
  emit("draft", null);
}

/** Discard the present draft and load the page as for a new visitor. */
function restart() {
  forgotten = true;
  saved.remove("draft");
  location.replace(location.pathname + location.search);
}

/** Save the present draft if the user changed anything in it. */
function keep() {
  if (forgotten || !opened || state.example?.exercise) return; // exercises keep their answers
  const here = work.now();
  if (work.same(here, opened)) {
    if (changed && !opened.own) discard(); // all taken back
    changed = false;
    return;
  }
  if (!here.text.trim() && !here.prompt && !here.tests.length) return;
  const before = last();
  if (!changed && before?.left) put({ ...names(), [EARLIER]: before }); // one draft makes room for another
  if (saved.set("draft", { ...here, when: Date.now() }) && !changed) {
    emit("draft", null);
    // the address no longer says what stands here; read again, it would hide the draft
    dropLink();
  }
  changed = true;
}

const soon = debounce(WAIT, keep);

/** Another grammar was opened: a draft it takes the place of stays, but no visit begins with it. */
function moved(example) {
  if (opened) soon.now();
  const draft = last();
  if (draft && !example.draft) saved.set("draft", { ...draft, left: true });
  if (draft?.left && example.draft) saved.set("draft", { ...draft, left: false });
  emit("draft", draft ? { when: draft.when, open: Boolean(example.draft) } : null);
  opened = null;
  changed = false;
  setTimeout(() => {
    opened = { ...work.now(), own: Boolean(example.draft) };
  }, 0); // when every part has it
}

function forget() {
  forgotten = true;
  saved.clear();
  location.replace(location.pathname + location.search);
}

on("example", moved);

on("titled", soon);

// "Break it" is the page's change, not a person's
on("rewrite", () =>
  setTimeout(() => {
    if (opened && !changed) opened = { ...work.now(), own: opened.own };
  }, 0),
);

on("ready", () => {
  for (const name of ["input", "change", "click"])
    document.addEventListener(name, () => soon(), { capture: true, passive: true });
  // a page that is put away may never be asked again
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") soon.now();
  });
  window.addEventListener("pagehide", () => soon.now());
});

export const drafts = {
  list,
  open,
  save,
  remove,
  rename,
  kept,
  reopen,
  discard,
  restart,
  keep: () => soon.now(),
  forget,
};

/* The menu of drafts, and a line about the one that is open. */
const PATIENCE = 4000; // milliseconds within which the second click must come

const when = (time) =>
  new Date(time).toLocaleString([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** A button that acts on its second click, for actions that cannot be undone. */
function sure(properties, words, question, act) {
  let armed = 0;
  const button = el("button", properties, words);
  button.addEventListener("click", (event) => {
    event.stopPropagation(); // the action may remove the button, and the menu would take the click for one outside
    if (armed) {
      clearTimeout(armed);
      act();
      return;
    }
    button.textContent = question;
    armed = setTimeout(() => {
      armed = 0;
      button.textContent = words;
    }, PATIENCE);
  });
  return button;
}

/** The line ``your draft of 20 Nov, 14:03 · discard``: before the buttons of the intro; where that is hidden, in the
    header. */
export function placeDraftLine(intro, header) {
  const line = el("span.draftline.quiet", { role: "status", hidden: true });
  const place = () => {
    if (intro.hidden) header.append(line);
    else intro.querySelector(".acts").before(line);
  };
  new MutationObserver(place).observe(intro, { attributes: true, attributeFilter: ["hidden"] });
  place();
  on("draft", (draft) => {
    line.hidden = !draft;
    if (!draft) return;
    const link = (words, act) => createButton(words, { class: "link" }, act);
    line.replaceChildren(
      `your draft of ${when(draft.when)}`,
      " · ",
      ...(draft.open ? [] : [link("open it", drafts.reopen), " · "]),
      link("discard", () => (draft.open ? drafts.restart() : drafts.discard())),
    );
  });
}

/** The group of the example picker; its options' values begin with ``draft:``. */
export const draftOptions = () =>
  el(
    "optgroup",
    { label: "Yours" },
    ...drafts.list().map((draft) => el("option", { value: `draft:${draft.name}` }, draft.name)),
  );

/** @param {DraftsMenu} view */
function renameRow(view, row, draft) {
  const field = el("input", { type: "text", maxlength: String(LONGEST_TITLE), "aria-label": "New name" });
  field.value = draft.name;
  const done = () => {
    view.status.textContent = drafts.rename(draft.name, field.value);
    if (view.status.textContent) field.focus();
    else showDrafts(view);
  };
  row.replaceChildren(
    el(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          done();
        },
      },
      field,
      el("button", { type: "submit" }, "Rename"),
    ),
  );
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      showDrafts(view);
    }
  });
  field.select();
}

/** @param {DraftsMenu} view */
function showDrafts(view) {
  const rows = drafts.list().map((draft) => {
    const row = el("li");
    const open = createButton(draft.name, { class: "bare name", title: draft.text.slice(0, 200) }, () => {
      view.menu.close();
      drafts.open(draft.name);
    });
    row.append(
      open,
      el("span.quiet", when(draft.when)),
      createButton("rename", { class: "bare", "aria-label": `Rename ${draft.name}` }, (event) => {
        event.stopPropagation();
        renameRow(view, row, draft);
      }),
      sure({ class: "bare", "aria-label": `Delete ${draft.name}` }, "delete", "really?", () => {
        drafts.remove(draft.name);
      }),
    );
    return row;
  });
  view.list.replaceChildren(...(rows.length ? rows : [el("li.quiet", "No drafts yet.")]));
}

/** The menu: ``Drafts``, to be put wherever there is room. */
export function createDraftsMenu() {
  const name = el("input", {
    type: "text",
    maxlength: String(LONGEST_TITLE),
    placeholder: "a name",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "Name of the draft",
  });
  const status = el("p.quiet.status", { role: "status" });
  const list = el("ul", { "aria-label": "Drafts in this browser" });
  const form = el("form.saveas", el("label", "Save this grammar as", name), el("button", { type: "submit" }, "Save"));
  const forget = sure({ class: "link no" }, "Delete everything", "Delete all drafts and settings?", drafts.forget);
  const sheet = el(
    "div.sheetlet",
    { hidden: true },
    form,
    status,
    list,
    el("p.quiet.keeps", el("span", "Stored in this browser only."), forget),
  );
  const box = el(
    "div.menu.drafts",
    el("button", { "aria-haspopup": "true", "aria-expanded": "false" }, "Drafts"),
    sheet,
  );
  const menu = createMenu(box);
  /** @type {DraftsMenu} */
  const view = { status, list, menu };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    status.textContent = drafts.save(name.value);
    if (status.textContent) return;
    showNotice(`Saved as “${state.ownTitle}” in this browser.`);
    menu.close();
  });
  if (!saved.possible) status.textContent = "Drafts cannot be saved: browser storage is blocked.";
  on("drafts", () => showDrafts(view));
  on("titled", () => {
    name.value = state.ownTitle;
  });
  showDrafts(view);
  return box;
}
