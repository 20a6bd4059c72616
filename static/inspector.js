/* The inspector: everything known of one token, or of the next one before it is taken. The model's likeliest tokens and
   the likeliest allowed tokens, each with its probability before the mask and after it; a search over the vocabulary.
   Makes no requests itself: it offers only the actions its caller passes. */

import { createLatest } from "./ask.js";
import { createButton, debounce, el, useUp, VERBATIM } from "./dom.js";
import { shades } from "./measures.js";
import { stageTable } from "./stages.js";
import { formatBits, formatNumber, formatPercent, glyphs } from "./tokens.js";

/** @import { Candidate, SearchAnswer, Step, Turn } from "./wire" */
/** @import { Ask } from "./ask.js" */

/** What a reader can do with a candidate or a token, where there is a server to ask.
    @typedef {{ take?(index: number, candidate: Candidate): unknown, rewind?(index: number): unknown,
      again?(index: number): unknown, unlit?(): void,
      explain?(ask: Ask, index: number, tokens: Candidate[]): Promise<string[] | null>,
      find?(ask: Ask, index: number, query: string): Promise<SearchAnswer>,
      why?: ((ask: Ask, index: number, candidate: Candidate) => Promise<HTMLElement | null> | null) | null
      }} InspectorDoors
    @typedef {{ row: typeof row, choose(candidate: Candidate): void, explain: ReturnType<typeof explainer>,
      find(ask: Ask, query: string): Promise<SearchAnswer> | undefined }} SearchDoors */

/** @typedef {{
      facts: HTMLElement, wanted: ReturnType<typeof list>, may: ReturnType<typeof list>,
      staged: HTMLElement, why: HTMLElement,
      search: ReturnType<typeof createTokenSearch> | null, shown: { record: Step | Turn | null, index: number },
      reasons: ReturnType<typeof createLatest>, explain: ReturnType<typeof explainer>,
      box: HTMLElement, doors: InspectorDoors,
    }} Inspector */

/** @typedef {{
      input: HTMLInputElement, found: HTMLElement, said: HTMLElement,
      latest: ReturnType<typeof createLatest>, taken: number | null, doors: SearchDoors,
    }} TokenSearch */

/** Candidates listed where there is room, and on a narrow page. */
const MANY = 14;
const FEW = 8;
const narrow = matchMedia("(max-width: 900px)");

/** Rows of candidates with a heading; one tab stop, arrows move, Enter chooses. */
function list(title, kind) {
  const rows = el("ul.cands");
  const head = el(
    "div.cand.head",
    el("h2", title),
    el("span"),
    el("span.n", { title: "The model's own probability, before the mask" }, "before"),
    el("span.n", { title: "Among the tokens that the mask allows" }, "after"),
  );
  const box = el("div", { class: kind }, head, rows);
  rows.addEventListener("keydown", (event) => {
    const items = [...rows.querySelectorAll("button.cand")],
      at = items.findIndex((item) => item.contains(document.activeElement));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    useUp(event);
    const to = items[Math.max(0, Math.min(items.length - 1, next))];
    items[at].tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
  return { box, rows };
}

/** One candidate as a row; `by` says which of its two probabilities the bar shows. */
function row(candidate, by, scale, { taken, act, first }) {
  const struck = !candidate.ok;
  const bar = el("span", { class: `b${struck ? " x" : by === "after" ? " a" : ""}` });
  bar.style.width = `${Math.max(0.4, (100 * candidate[by]) / scale)}%`;
  const words = struck ? "forbidden" : taken ? "taken" : "",
    shown = glyphs(candidate);
  const heard = (text) => el("span.sr", text);
  const button = createButton(
    [
      el("code", { title: shown }, shown),
      el("span.track", bar),
      el("span.n", formatPercent(candidate.before), heard(" before the mask, ")),
      el("span.n", struck ? "✕" : formatPercent(candidate.after), heard(struck ? " forbidden: " : " after it ")),
      el("span.w", words),
    ],
    {
      class: `cand${struck ? " x" : ""}${taken ? " taken" : ""}`,
      tabindex: first ? "0" : "-1",
      "aria-current": taken ? "true" : null,
      "aria-disabled": act ? null : "true",
    },
    act,
  );
  button.title = struck ? "Why is it forbidden?" : act ? "Continue from here with this token" : "";
  return el("li", button);
}

/** A line for what is not listed, so that both columns add up to 100 %. */
const line = (name, before, after, title) =>
  el(
    "li.cand.rest",
    { title },
    el("code", name),
    el("span"),
    el("span.n", formatPercent(Math.max(0, before))),
    el("span.n", after === null ? "✕" : formatPercent(Math.max(0, after))),
    el("span"),
  );

const sum = (candidates, key) => candidates.reduce((all, candidate) => all + candidate[key], 0);

function rest(record, kind, listed) {
  const whole = kind === "may" ? record.kept : 1;
  const others = kind === "may" ? record.allowed - listed.length : Infinity;
  const lines =
    others > 0
      ? [
          line(
            others === Infinity ? "all others" : `${formatNumber(others)} more`,
            whole - sum(listed, "before"),
            1 - sum(listed, "after"),
          ),
        ]
      : [];
  if (kind === "may")
    lines.push(line("forbidden", 1 - record.kept, null, "The probability of all forbidden tokens together"));
  return lines;
}

/** @param {TokenSearch} search */
const saySearch = (search, text) => {
  search.said.textContent = text;
  search.said.hidden = !text;
};

/** @param {TokenSearch} search */
function clear(search) {
  search.latest.drop();
  search.found.replaceChildren();
  search.found.hidden = true;
  saySearch(search, "");
}

/** @param {TokenSearch} search */
function lookUp(search) {
  const query = search.input.value;
  if (query) search.latest.run(async (ask) => showFound(search, await search.doors.find(ask, query)));
  else clear(search);
}

/** @param {TokenSearch} search */
function showFound(search, answer) {
  if (answer.why) {
    clear(search);
    saySearch(search, answer.why);
    return;
  }
  const scale = Math.max(...answer.found.map((candidate) => candidate.before), 0.001);
  search.found.replaceChildren(
    ...answer.found.map((candidate, i) => {
      const made = search.doors.row(candidate, "before", scale, {
        taken: candidate.id === search.taken,
        act: candidate.id === search.taken ? null : () => search.doors.choose(candidate),
        first: i === 0,
      });
      made.querySelector("button").title +=
        ` · rank ${formatNumber(candidate.rank)}` +
        (candidate.rankm ? `, ${formatNumber(candidate.rankm)} of the allowed` : "");
      return made;
    }),
  );
  search.found.hidden = !answer.found.length;
  saySearch(
    search,
    answer.found.length
      ? answer.more
        ? `and ${formatNumber(answer.more)} more; type more to see fewer`
        : ""
      : "no token of this vocabulary contains that",
  );
  search.doors.explain(search.found, answer.found);
}

/* A search over the vocabulary: a typed text becomes rows of tokens, allowed or not, with both probabilities. */
function createTokenSearch(box, doors) {
  const input = el("input", {
    type: "text",
    role: "searchbox",
    placeholder: "search any token",
    "aria-label": "Search any token of the vocabulary",
    ...VERBATIM,
    maxlength: "100",
  });
  const found = el("ul.cands.hits", { "aria-label": "Tokens found", hidden: true });
  const said = el("p.quiet.hint", { role: "status", hidden: true });
  box.append(
    el("div.lookup", { title: "\\n, \\t and <0xE2> are bytes, #12 is a token by its number, end is the end" }, input),
    found,
    said,
  );
  /** @type {TokenSearch} */
  const search = {
    input,
    found,
    said,
    latest: createLatest({ subject: () => input.value }),
    taken: null,
    doors,
  };
  const soon = debounce(120, () => lookUp(search));
  input.addEventListener("input", () => soon());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.value) {
      event.stopPropagation();
      input.value = "";
      clear(search);
    }
    if (event.key === "ArrowDown" && !found.hidden) {
      useUp(event);
      found.querySelector("button")?.focus();
    }
    if (event.key === "Enter") {
      event.preventDefault();
      found.querySelector("button:not(.x)")?.click();
    }
  });
  found.addEventListener("keydown", (event) => {
    const items = [...found.querySelectorAll("button")],
      at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "ArrowUp" && at === 0) {
      useUp(event);
      input.focus();
      return;
    }
    const next = items[at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0)];
    if (at < 0 || !next || next === items[at]) return;
    useUp(event);
    next.focus();
  });
  return {
    /** Another token is looked at: what was typed is looked up again there. */
    moved(record) {
      search.taken = record.id ?? null;
      if (input.value) soon();
    },
    focus: () => {
      input.focus();
      input.select();
    },
  };
}

/** @param {Inspector} inspector */
const actOf = (inspector, candidate) => {
  if (!candidate.ok) return inspector.doors.why ? () => choose(inspector, candidate) : null;
  const { record } = inspector.shown,
    step = record && "id" in record ? record : null; // a turn has no token yet
  const takes = inspector.doors.take && step?.read !== "alone" && candidate.id !== step?.id;
  return takes ? () => choose(inspector, candidate) : null;
};

/** @param {Inspector} inspector */
function choose(inspector, candidate, scrolls = true) {
  if (candidate.ok) inspector.doors.take?.(inspector.shown.index, candidate);
  else
    inspector.reasons.run(async (ask) =>
      showWhy(inspector, candidate, await inspector.doors.why?.(ask, inspector.shown.index, candidate), scrolls),
    );
}

/** @param {Inspector} inspector */
function showWhy(inspector, candidate, panel, scrolls) {
  if (!panel) return;
  const close = createButton("×", { class: "bare", "aria-label": "Close" }, () => closeWhy(inspector, true));
  inspector.why.replaceChildren(
    el("div.whyhead", el("h2", "Why not ", el("code", glyphs(candidate)), "?"), close),
    panel,
  );
  inspector.why.hidden = false;
  if (scrolls) inspector.why.scrollIntoView({ block: "nearest" });
}

/** @param {Inspector} inspector */
function closeWhy(inspector, told) {
  inspector.reasons.drop();
  if (!inspector.why.hidden && told) inspector.doors.unlit?.();
  inspector.why.hidden = true;
  inspector.why.replaceChildren();
}

/** A note as nodes: its characters, which are in backticks, as chips. */
const noteNodes = (text) =>
  text.split(/`(.)`/u).map((part, i) => (i % 2 ? el("code.sign", part === "␠" ? "space" : part) : part));

/** A function that puts short reasons next to the struck tokens of a list, when they arrive.
    @param {Inspector} inspector */
function explainer(inspector) {
  const latest = createLatest();
  return (rows, candidates) =>
    latest.run(async (ask) => {
      const struck = candidates.filter((candidate) => !candidate.ok);
      const notes = struck.length ? await inspector.doors.explain?.(ask, inspector.shown.index, struck) : null;
      const cells = [...rows.querySelectorAll(".cand.x .w")];
      for (const [i, text] of (notes ?? []).entries()) {
        if (!text || !cells[i]) continue;
        cells[i].replaceChildren(...noteNodes(text));
        cells[i].title = text.replaceAll("`", "");
      }
    });
}

function pairRow(name, before, after, title) {
  return el("tr", { title }, el("th", { scope: "row" }, name), el("td", before), el("td", after));
}

const factRow = (name, value, title) =>
  el("tr", { title }, el("th", { scope: "row" }, name), el("td", { colspan: "2" }, value));

/** The tokens left, and how many of them the shortest end of the text needs. */
function gaugeRow({ left, needs }) {
  const share = el("i", { style: `width:${(100 * needs) / Math.max(1, left)}%` }),
    bar = el("span", { class: needs === left ? "gauge tight" : "gauge", "aria-hidden": "true" }, share);
  return factRow(
    "tokens needed",
    el("span", bar, `${formatNumber(needs)} of ${formatNumber(left)} left`),
    "The fewest tokens that end the text, the end token included, and the tokens left before this one",
  );
}

const timeOf = (ms) => (ms ? shades.milliseconds((ms.model || 0) + (ms.mask || 0) + (ms.advance || 0)) : "—");

const rankOf = (value) => (value ? formatNumber(value) : "—");

/** @param {Inspector} inspector */
function showFacts(inspector, record, index) {
  const taken = record.k !== "turn",
    body = el("tbody");
  const verdict = { refused: " · refused", alone: " · after a refused token" }[record.read];
  const title = taken
    ? el("h2", `Token ${index + 1} · `, el("code", glyphs(record.token)), verdict ?? "")
    : el("h2", `Token ${index + 1} · `, el("span", "not taken yet"));
  if (taken)
    body.append(
      pairRow("probability", formatPercent(record.p), formatPercent(record.pm)),
      pairRow("surprisal, bits", formatBits(record.s), formatBits(record.sm)),
      pairRow("rank", rankOf(record.rank), rankOf(record.rankm)),
    );
  body.append(
    factRow(
      "kept mass",
      `${formatPercent(record.kept)} · ${formatBits(record.m)} bits`,
      "The probability of all allowed tokens together; the bits removed by the mask are −log₂ of it",
    ),
  );
  body.append(
    factRow(
      "allowed tokens",
      formatNumber(record.allowed) + (record.may_end ? " and the end" : ""),
      record.may_end ? "The text may end here" : "",
    ),
  );
  addExtras(body, record);
  const best = record.wanted[0];
  if (best)
    body.append(
      factRow(
        "first choice",
        el("span", { class: best.ok ? "" : "warn" }, el("code", glyphs(best)), best.ok ? "" : " ✕"),
      ),
    );
  body.append(
    factRow(
      "time",
      timeOf(record.ms),
      record.ms
        ? `model ${record.ms.model} ms · mask ${record.ms.mask} ms · advance ${record.ms.advance ?? "—"} ms`
        : "",
    ),
    factRow("state", record.state),
  );
  inspector.facts.replaceChildren(title, el("table", taken ? headOf() : null, body));
  const chips = record.stack ?? [];
  if (chips.length)
    inspector.facts.append(
      el(
        "div.row.inrule",
        { title: chips.join(" ▸ ") },
        el("span.quiet", "in rule"),
        el("span", chips.length > 3 ? "… " : "", ...chips.slice(-3).flatMap((name) => [el("span.chip", name), " "])),
      ),
    );
  addActs(inspector, record, index);
}

/** Rows that only some steps have. */
function addExtras(body, record) {
  if (record.budget) body.append(gaugeRow(record.budget));
  if (record.label)
    body.append(factRow("read by", record.label, "A terminal label: one token of a set of the vocabulary's tokens"));
  if (record.free !== undefined)
    body.append(factRow("part", "reasoning", "Free text up to the closing marker; the grammar begins after it"));
  if (record.draft)
    body.append(
      factRow(
        "draft model",
        el(
          "span",
          { class: record.draft.id === record.id ? "" : "warn" },
          el("code", glyphs(record.draft)),
          record.draft.id === record.id ? "" : " ✕",
        ),
        "The token that the draft model proposed; ✕ if the model took another one",
      ),
    );
}

const headOf = () =>
  el(
    "thead",
    el(
      "tr",
      el("th", { scope: "col" }, el("span.sr", "what")),
      el("th", { scope: "col" }, "before mask"),
      el("th", { scope: "col" }, "after"),
    ),
  );

/** What can be done with a token that was taken. @param {Inspector} inspector */
function addActs(inspector, record, index) {
  const taken = record.k !== "turn";
  const acts = el("div.row.acts"),
    goes = taken && record.read !== "alone";
  if (goes && inspector.doors.rewind)
    acts.append(
      createButton(
        "Rewind to here",
        { title: "A new branch that ends before this token: choose another token, or press Step or Continue (R)" },
        () => inspector.doors.rewind?.(index),
      ),
    );
  if (goes && inspector.doors.again)
    acts.append(
      createButton(
        "and go on",
        { title: "A new branch that ends before this token; the model goes on with another seed" },
        () => inspector.doors.again?.(index),
      ),
    );
  if (acts.children.length) inspector.facts.append(acts);
}

/** Show a step, or a turn (the next token before it is taken); null keeps the room and shows nothing.
    @param {Inspector} inspector */
function showRecord(inspector, record, index) {
  closeWhy(inspector, true);
  inspector.box.classList.toggle("empty", !record);
  if (!record) {
    if (inspector.shown.record) inspector.shown = { record: null, index: -1 };
    return;
  }
  inspector.shown = { record, index };
  showFacts(inspector, record, index);
  const most = narrow.matches ? FEW : MANY;
  for (const { part, kind, by } of [
    { part: inspector.wanted, kind: "wanted", by: "before" },
    { part: inspector.may, kind: "may", by: "after" },
  ]) {
    const listed = record[kind].slice(0, most);
    const scale = Math.max(...listed.map((candidate) => candidate[by]), 0.001);
    const rows = listed.map((candidate, i) =>
      row(candidate, by, scale, {
        taken: candidate.id === record.id,
        act: actOf(inspector, candidate),
        first: i === 0,
      }),
    );
    part.rows.replaceChildren(...rows, ...rest(record, kind, listed));
  }
  const table = stageTable(record);
  inspector.staged.hidden = !table;
  inspector.staged.replaceChildren(...(table ?? []));
  inspector.explain(inspector.wanted.rows, record.wanted.slice(0, most));
  if (record.read === "refused") choose(inspector, { ...record.token, id: record.id, ok: false }, false);
  inspector.search?.moved(record);
}

/** Move the keyboard to the candidates: what may be said, the first of them. @param {Inspector} inspector */
const enter = (inspector) => inspector.may.rows.querySelector("button.cand[tabindex='0']")?.focus();

/** @param {HTMLElement} box @param {InspectorDoors} doors */
export function createInspector(box, doors = {}) {
  /** @type {Partial<Inspector>} */
  const parts = {
    box,
    doors,
    facts: el("div.tokenfacts"),
    wanted: list("Model's choices", "wanted"),
    may: list("Allowed tokens", "may"),
    staged: el("div.stagebox", { hidden: true }),
    why: el("div.whybox", { hidden: true }),
    search: null,
    shown: { record: null, index: -1 },
    reasons: createLatest(),
  };
  const inspector = /** @type {Inspector} */ (parts),
    { facts, wanted, may, staged, why } = inspector;
  box.replaceChildren(facts, wanted.box, may.box, staged, why);
  inspector.explain = explainer(inspector);
  if (doors.find)
    inspector.search = createTokenSearch(may.box, {
      row,
      find: (ask, query) => doors.find?.(ask, inspector.shown.index, query),
      choose: (candidate) => choose(inspector, candidate),
      explain: explainer(inspector),
    });
  showRecord(inspector, null, -1);
  return {
    show: (record, index = -1) => showRecord(inspector, record, index),
    enter: () => enter(inspector),
    wait: (waiting) => box.classList.toggle("waiting", waiting),
    search: () => inspector.search?.focus(),
  };
}
