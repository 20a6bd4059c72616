/* The tools next to a picture: the stack, a search for states, the machine as a table, the tokens of an edge, and the
   Export menu. */

import { createLatest } from "./ask.js";
import {
  copyText,
  createButton,
  createMenu,
  createTable,
  debounce,
  download,
  el,
  markChosen,
  radios,
  targetOf,
  useUp,
} from "./dom.js";
import { dotText } from "./dot-text.js";
import { passedBy } from "./graph.js";
import { state } from "./state.js";
import { formatNumber, several } from "./tokens.js";

/** @import { FoundState, Picture } from "./wire" */

/** @typedef {{
      filter: HTMLInputElement, status: HTMLElement, scroll: HTMLElement, answer: Picture | null, standing: string[][],
    }} RowsBox */

/** ``before``: the keys of the boxes that were shown last. @typedef {{ before: string, box: HTMLElement }} StackBox */

/** @typedef {{
      input: HTMLInputElement, list: HTMLElement, latest: ReturnType<typeof createLatest>, found: FoundState[],
      at: number, go: (id: string) => void,
    }} FindBox */

const MOST_BOXES = 9;
const NAMES = { characters: "Characters", tokens: "Tokens", stack: "Stack machine", rules: "Rules" };

/** From where to where an edge goes, with a button for the states folded into it. */
function edgeHead(edge, record, { status, unfold, close }) {
  const name = (id) => record.states.find((each) => each.id === id)?.label || id;
  return el(
    "header",
    el("span.chip", name(edge.source)),
    "→",
    el("span.chip", name(edge.target)),
    status,
    el("span.grow"),
    unfold && edge.inside?.length
      ? createButton("Unfold", { title: "Draw the states folded into this edge (or double-click it)" }, () =>
          unfold(edge.inside),
        )
      : null,
    createButton("×", { class: "bare", "aria-label": "Close" }, close),
  );
}

/** What an edge does to the stack. */
const effectOf = ({ pops, pushes }) => [
  ...pops.map((item) => el("p", el("b.pop", "▼"), " pops ", el("code", item))),
  ...pushes.map((item) => el("p", el("b.push", "▲"), " pushes ", el("code", item))),
];

/* The labels of a selected edge: all its tokens, with a filter; or its characters. */
export function createEdgeList(box, tokensOf, unfold = /** @type {((states: string[]) => void) | null} */ (null)) {
  const latest = createLatest();
  let from = /** @type {HTMLElement | null} */ (null);
  const close = () => {
    latest.drop();
    box.hidden = true;
    from?.focus?.({ preventScroll: true });
  };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  });

  function show(edge, record, origin, parts = /** @type {number[] | null} */ (null)) {
    latest.drop();
    from = origin;
    const list = el("ul.tokens", { tabindex: "0", "aria-label": "Labels of this edge" });
    const status = el("span.told", { role: "status" });
    const filter = el("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "Search the label of this edge",
      spellcheck: "false",
      hidden: true,
    });
    const head = edgeHead(edge, record, { status, unfold, close }),
      effect = effectOf(edge);
    box.replaceChildren(head, filter, list, ...(effect.length ? [el("div.effect", ...effect)] : []));
    box.hidden = false;
    let items = edge.labels.length ? edge.labels.flatMap((label) => label.split("\n")) : ["a call"];
    const fill = () => {
      const wanted = filter.value.toLowerCase();
      const left = items.filter((item) => item.toLowerCase().includes(wanted));
      list.replaceChildren(...left.slice(0, 400).map((item) => el("li", item)));
      if (left.length > 400)
        list.append(el("li.more", `and ${formatNumber(left.length - 400)} more; search to see them`));
      if (!left.length) list.append(el("li.more", "no token of this edge contains that"));
    };
    filter.addEventListener("input", fill);
    status.textContent = edge.count
      ? several(edge.count, "token")
      : edge.title && edge.title !== items.join(" ")
        ? edge.title.split("\n")[0]
        : "";
    if (!edge.count && edge.detail) items = [...items, ...edge.detail.split(", ")];
    fill();
    filter.hidden = items.length < 9;
    if (edge.count < 2) return;
    latest.run(async (ask) => {
      const answer = await tokensOf(ask, edge, parts);
      if (answer.ok && answer.tokens.length) {
        items = answer.tokens;
        status.textContent =
          several(answer.count, "token") +
          (answer.count > items.length ? `, the first ${formatNumber(items.length)} listed` : "");
      }
      filter.hidden = items.length < 9;
      fill();
    });
  }
  return {
    show,
    close: () => {
      latest.drop();
      box.hidden = true;
    },
  };
}

/* The Export menu: the formats of a picture. Other parts add their own entries. */
const entries = [];

let redraw = () => {};

/** @typedef {(record: Picture & { svg: string }, name: string, button: HTMLElement) => unknown} ExportAct */

export const exportEntries = {
  /** An entry: ``act(record, name, button)`` gets the picture that is shown and a name for its file; ``when(record)``
      says whether it can be used.
      @param {string} label @param {ExportAct} act @param {(record: Picture) => boolean} [when] */
  add(label, act, when = () => true) {
    entries.push({ label, act, when });
    redraw();
  },
};

const isGraph = (record) => record.states?.length > 0 && !record.tree;

exportEntries.add("Copy DOT", (record, _name, button) => copyText(dotText(record), button), isGraph);

exportEntries.add(
  "Download DOT",
  (record, name) => download(`${name}.dot`, "text/vnd.graphviz", dotText(record)),
  isGraph,
);

exportEntries.add("Copy SVG", (record, _name, button) => copyText(record.svg, button));

exportEntries.add("Download SVG", (record, name) => download(`${name}.svg`, "image/svg+xml", record.svg));

/** Fill the menu. Returns a function to call with the picture that is shown. */
export function createExportMenu(menu, named) {
  const list = menu.querySelector("ul"),
    { close } = createMenu(menu);
  let shown = null;
  redraw = () =>
    list.replaceChildren(
      ...entries
        .filter(({ when }) => shown && when(shown))
        .map(({ label, act }) => {
          const entry = el("button", label);
          entry.addEventListener("click", () => {
            act(shown, named(), entry);
            if (!label.startsWith("Copy")) close();
          });
          return el("li", entry);
        }),
    );
  menu.style.visibility = "hidden"; // it keeps its room, so the tabs next to it never move
  return (record) => {
    shown = record?.svg ? record : null;
    menu.style.visibility = shown ? "" : "hidden";
    redraw();
  };
}

const chipOf = ({ rule, state, number }, kind, note) =>
  el(
    "li",
    {
      class: `frame ${kind}`,
      title: `${rule}, continues in state ${number ?? state}`,
      "data-key": rule + state + kind,
    },
    el("span.rule", rule || "regex"),
    el("span.at", note ?? `▼${number ?? state}`),
  );

/** What a token does to a stack: what it leaves, what it takes off, what it puts on. */
function editsOf(before, after) {
  const waiting = ({ boxes, depth }) => ({ all: boxes.slice(0, -1), hidden: depth + 1 - boxes.length });
  const old = waiting(before),
    now = waiting(after),
    kept = Math.max(0, (after.kept ?? 0) - old.hidden);
  return {
    same: old.all.slice(0, kept),
    off: old.all.slice(kept),
    on: now.all.slice(Math.max(0, after.kept - now.hidden)),
  };
}

/** Of many boxes those at both ends. @param {HTMLElement[]} boxes */
function shortened(boxes) {
  const excess = boxes.length - MOST_BOXES;
  if (excess <= 0) return boxes;
  return [...boxes.slice(0, 2), el("li.frame.more", `${excess} more`), ...boxes.slice(excess + 2)];
}

/** The stack at a token, with what the token does to it; at its end where the run continues. Returns whether there is
      one. @param {StackBox} card */
function showStack(card, step, atEnd = false) {
  const stacks = step?.path?.stacks;
  if (!stacks?.length) {
    card.box.replaceChildren();
    card.before = "";
    return false;
  }
  const [first, last = first] = stacks;
  const stack = atEnd ? last : first;
  const waiting = stack.boxes.slice(0, -1),
    top = stack.boxes[stack.boxes.length - 1];
  const change = atEnd || stacks.length < 2 ? { same: waiting, off: [], on: [] } : editsOf(first, last);
  const frames = [
    ...change.same.map((each) => chipOf(each, "")),
    ...change.off.map((each) => chipOf(each, "off", "popped")),
    ...change.on.map((each) => chipOf(each, "on", "▲ pushed")),
  ];
  const list = el(
    "ol",
    { reversed: true },
    chipOf(top, "top", `in ${top.number ?? top.state}`),
    ...shortened(frames.reverse()),
  );
  const bottom = el(
    "p.bottom",
    stack.boxes.length < stack.depth + 1
      ? `${stack.depth + 1 - stack.boxes.length} more below`
      : waiting.length || change.on.length
        ? "bottom of the stack"
        : "stack is empty",
  );
  const ways =
    stack.ways > 1
      ? el(
          "details.ways",
          el("summary", `${stack.ways - 1} other way${stack.ways === 2 ? "" : "s"} to read it`),
          ...stack.others.map((boxes) =>
            el("p", boxes.map((each) => `${each.rule} ${each.number ?? each.state}`).join(" ▸ ")),
          ),
          stack.ways - 1 > stack.others.length ? el("p", `and ${stack.ways - 1 - stack.others.length} more`) : null,
        )
      : null;
  const wasOpen = card.box.querySelector("details")?.open;
  card.box.replaceChildren(el("h3", "Stack", el("b", String(waiting.length))), list, bottom, ...(ways ? [ways] : []));
  if (ways && wasOpen) ways.open = true;
  // what is new slides in; what stays does not move
  const items = list.querySelectorAll("li"),
    keys = [...items].map((each) => each.dataset.key);
  if (card.before)
    for (const each of items) if (!card.before.includes(`|${each.dataset.key}|`)) each.classList.add("fresh");
  card.before = `|${keys.join("|")}|`;
  card.box.setAttribute(
    "aria-label",
    "Stack, the bottom first: " +
      [...waiting, top].map((each) => each.rule).join(", ") +
      (change.off.length ? `; this token pops ${change.off.length}` : "") +
      (change.on.length ? `; this token pushes ${change.on.length}` : ""),
  );
  return true;
}

/* The stack as boxes, its bottom below: the states to which waiting rules return, the current rule on top; what a token
   pushes and pops. */
/** @param {HTMLElement} box */
export function createStack(box) {
  box.classList.add("stack");
  box.setAttribute("role", "group");
  /** @type {StackBox} */
  const card = { before: "", box };
  showStack(card, null);
  return { show: (step, atEnd) => showStack(card, step, atEnd) };
}

/** @param {FindBox} finder */
function showList(finder, open) {
  if (!open) finder.latest.drop();
  finder.list.hidden = !open;
  finder.input.setAttribute("aria-expanded", String(open));
  if (!open) {
    finder.at = -1;
    finder.input.removeAttribute("aria-activedescendant");
  }
}

/** @param {FindBox} finder */
function chooseFound(finder, index) {
  finder.at = index;
  for (const [i, row] of [...finder.list.children].entries())
    row.setAttribute("aria-selected", String(i === finder.at));
  const row = finder.list.children[finder.at];
  if (!row) {
    finder.input.removeAttribute("aria-activedescendant");
    return;
  }
  finder.input.setAttribute("aria-activedescendant", row.id);
  row.scrollIntoView({ block: "nearest" });
}

/** @param {FindBox} finder */
function takeFound(finder, index) {
  const one = finder.found[index];
  if (!one) return;
  showList(finder, false);
  finder.go(one.id);
}

/** @param {FindBox} finder */
function showFound(finder, answer) {
  finder.found = answer.found || [];
  finder.list.replaceChildren(
    ...(finder.found.length
      ? finder.found.map((one, index) =>
          el(
            "li",
            {
              id: `wb-found-${index}`,
              role: "option",
              "aria-selected": "false",
              onpointerdown: (event) => {
                event.preventDefault();
                takeFound(finder, index);
              },
            },
            el("b", one.number ?? one.id),
            el("span", one.why),
          ),
        )
      : [
          el(
            "li.none",
            { role: "option", "aria-disabled": "true", "aria-selected": "false" },
            answer.why || "no state found",
          ),
        ]),
  );
  showList(finder, true);
  chooseFound(finder, finder.found.length ? 0 : -1);
}

/* A search for a state by number, rule or label: the results are a list for the keyboard; choosing one draws the
   part of the machine around it. */
export function createFindBox(box, { find, go }) {
  const input = el("input", {
    type: "text",
    role: "combobox",
    placeholder: "Find a state",
    "aria-label": "Find a state by number, rule or label",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-controls": "wb-found",
    spellcheck: "false",
    autocomplete: "off",
  });
  const list = el("ul", { id: "wb-found", role: "listbox", "aria-label": "States found", hidden: true });
  box.append(input, el("kbd", { "aria-hidden": "true" }, "/"), list);
  const latest = createLatest({ subject: () => input.value.trim() });
  /** @type {FindBox} */
  const finder = { input, list, latest, found: [], at: -1, go };
  const look = debounce(120, () => {
    const query = input.value.trim();
    if (query) latest.run(async (ask) => showFound(finder, await find(ask, query)));
    else showList(finder, false);
  });
  input.addEventListener("input", look);
  input.addEventListener("focus", () => {
    if (input.value.trim()) look.now();
  });
  input.addEventListener("blur", () => showList(finder, false));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !list.hidden) {
      event.preventDefault();
      chooseFound(finder, (finder.at + step + finder.found.length) % Math.max(1, finder.found.length));
    }
    if (event.key === "Enter") {
      useUp(event);
      if (list.hidden) look.now();
      else takeFound(finder, finder.at);
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      if (list.hidden) {
        input.value = "";
        input.blur();
      } else showList(finder, false);
    }
  });
  return {
    focus: () => {
      input.focus();
      input.select();
    },
    clear: () => {
      input.value = "";
      showList(finder, false);
    },
  };
}

/** @param {RowsBox} rowsBox */
function fillRows(rowsBox) {
  const wanted = rowsBox.filter.value.trim().toLowerCase();
  const rows = (rowsBox.answer?.rows ?? []).filter(
    (row) => !wanted || row.slice(2).some((cell) => cell.toLowerCase().includes(wanted)),
  );
  const body = rows.map((row) =>
    el("tr", { "data-state": row[0], "data-target": row[1] }, ...row.slice(2).map((cell) => el("td", cell))),
  );
  rowsBox.scroll.replaceChildren(createTable(rowsBox.answer?.heads ?? [], body));
  if (!rows.length) rowsBox.scroll.append(el("p.none", "no row contains that"));
  rowsBox.status.textContent =
    (wanted ? `${formatNumber(rows.length)} of ${formatNumber((rowsBox.answer?.rows ?? []).length)} rows · ` : "") +
    (rowsBox.answer?.count ?? "");
  markRows(rowsBox, false);
}

/** @param {RowsBox} rowsBox */
function markRows(rowsBox, scrolls) {
  for (const row of rowsBox.scroll.querySelectorAll("tr.now, tr.taken")) row.classList.remove("now", "taken");
  const [here, path] = rowsBox.standing;
  if (!here?.length) return;
  const pairs = new Set(path.slice(1).map((moment, i) => `${path[i][0]}>${moment[0]}`));
  /** @type {HTMLElement | undefined} */
  let first;
  for (const row of rowsBox.scroll.querySelectorAll("tbody tr")) {
    const taken = pairs.has(`${row.dataset.state}>${row.dataset.target}`);
    const now = here.includes(row.dataset.state ?? "");
    row.classList.toggle("now", now);
    row.classList.toggle("taken", taken);
    if (taken || (now && !first)) first = first?.classList.contains("taken") ? first : /** @type {HTMLElement} */ (row);
  }
  if (scrolls && first) {
    const head = rowsBox.scroll.querySelector("thead")?.offsetHeight || 0;
    const top = first.offsetTop - head,
      bottom = first.offsetTop + first.offsetHeight;
    if (top < rowsBox.scroll.scrollTop || bottom > rowsBox.scroll.scrollTop + rowsBox.scroll.clientHeight)
      rowsBox.scroll.scrollTop = Math.max(0, top - rowsBox.scroll.clientHeight / 3);
  }
}

/* A machine as a table, for machines too large to draw and for screen readers: which machine, a filter, and the rows of
   the current states of the run. */
export function createRows(box, { choose, place }) {
  const which = el("div.seg.which", { role: "radiogroup", "aria-label": "Machine in the table" });
  const filter = el("input.filter", {
    type: "search",
    placeholder: "Filter rows",
    "aria-label": "Filter rows of the table",
    spellcheck: "false",
  });
  const status = el("span.told", { role: "status" });
  const scroll = el("div.scroll", { tabindex: "0", role: "region", "aria-label": "The machine as a table" });
  box.append(el("div.tools", which, filter, status), scroll);
  /** @type {RowsBox} */
  const rowsBox = { filter, status, scroll, answer: null, standing: [] };
  radios(which, "data-of", Object.entries(NAMES), choose);
  filter.addEventListener("input", () => {
    if (rowsBox.answer) fillRows(rowsBox);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && filter.value) {
      event.stopPropagation();
      filter.value = "";
      fillRows(rowsBox);
    }
  });
  scroll.addEventListener("click", (event) => {
    const row = targetOf(event).closest("tr[data-state]");
    if (row) place(row.dataset.state);
  });
  return {
    show(next, of) {
      rowsBox.answer = next;
      for (const button of which.querySelectorAll("button")) {
        const why = state.compiled?.tabs?.[button.dataset.of ?? ""] || "";
        button.disabled = Boolean(why);
        button.title = why;
      }
      markChosen(which, "aria-checked", which.querySelector(`[data-of="${of}"]`));
      if (!next.ok) {
        scroll.replaceChildren(el("p.none", next.why));
        status.textContent = "";
        rowsBox.answer = null;
        return;
      }
      fillRows(rowsBox);
    },
    /** Mark the rows where the run stands, and those it takes. */
    go(step, atEnd) {
      if (!rowsBox.answer) return null;
      const { standing: here, path } = passedBy(rowsBox.answer, step, atEnd);
      rowsBox.standing = [here, path];
      markRows(rowsBox, true);
      return here[0];
    },
    holds: (id) => Boolean(rowsBox.answer?.rows?.some((row) => row[0] === id)),
  };
}
