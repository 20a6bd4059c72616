/* The table of a comparison, and the texts in it as strips of tokens. */

import { el } from "./dom.js";
import { formatBits, formatNumber, glyphs, several, tokenBytes, tokenNodes } from "./tokens.js";

/* Strips of tokens, which show where a text leaves another one and how it continues. */
const LEFT = 18; // characters shown of what two texts share

const spoken = (run) => run.steps.filter((step) => !step.end);
/** A text, a letter for every byte: what can be compared place by place. */
const letters = (step) => String.fromCharCode(...tokenBytes(step));
const written = (run) => spoken(run).map(letters).join("");

/** Where a run leaves another: `index` of its token, `at` the byte, `kind` "text" or, where only the cuts between
      tokens differ, "tokens"; kind "" while, or because, nothing differs. */
function parting(run, other) {
  const mine = written(run),
    theirs = written(other),
    over = run.end && other.end;
  let at = 0;
  while (at < mine.length && at < theirs.length && mine[at] === theirs[at]) at++;
  const same = at === mine.length && at === theirs.length;
  // one of the two may only be shorter as yet
  const kind = same ? "" : at < mine.length && at < theirs.length ? "text" : over ? "text" : "";
  if (kind) return { kind, at, index: tokenAt(run, at), instead: spoken(other)[tokenAt(other, at)] };
  const index = spoken(run).findIndex((step, i) => i < spoken(other).length && step.id !== spoken(other)[i].id);
  return index < 0
    ? { kind: "", at, index: spoken(run).length }
    : { kind: "tokens", at, index, instead: spoken(other)[index] };
}
/** The token that holds a byte. */
function tokenAt(run, at) {
  const steps = spoken(run);
  let passed = 0,
    index = 0;
  while (index < steps.length && passed + letters(steps[index]).length <= at) passed += letters(steps[index++]).length;
  return index;
}

const bin = (step) => (step.s === null ? (step.skipped ? 0 : 7) : Math.min(7, Math.floor(step.s)));
const words = (step) =>
  [
    glyphs(step),
    step.s === null
      ? step.skipped
        ? "the model was not asked"
        : "surprisal ∞"
      : `surprisal ${formatBits(step.s)} bits`,
    step.m ? `bits removed by the mask: ${formatBits(step.m)}` : "",
    step.forced ? "the only token allowed" : "",
    step.cut ? "model preferred a different token" : "",
    step.skipped ? "no separate model call" : "",
  ]
    .filter(Boolean)
    .join(" · ");

function token(step) {
  const made = el("span", {
    class: `tok b${bin(step)}${step.forced ? " fr" : ""}${step.cut ? " cut" : ""}${step.skipped ? " sk" : ""}`,
    title: words(step),
  });
  made.append(tokenNodes(step));
  for (const line of made.querySelectorAll(".nl")) line.textContent = ""; // its sign stays, the line goes on
  return made;
}

/** The sign where a run leaves another, with what the other has there. */
function sign(found, name) {
  const there = found.instead && !found.instead.end ? glyphs(found.instead) : "end";
  const says =
    found.kind === "tokens"
      ? `same text as ${name}, different tokens from here on: it has ${there} here`
      : `differs from ${name} from here on: it has ${there} here`;
  return el(
    "span",
    { class: `part ${found.kind}`, title: says, role: "img", "aria-label": says },
    found.kind === "tokens" ? "≈" : "≠",
    el("s", { "aria-hidden": "true" }, there),
  );
}

/** The end of what two texts share, as many letters as all rows have in common. */
function tail(steps) {
  const shown = [];
  let room = LEFT;
  for (let i = steps.length - 1; i >= 0 && room > 0; i--) {
    shown.unshift(steps[i]);
    room -= glyphs(steps[i]).length;
  }
  return { shown, hidden: steps.length - shown.length };
}

/** Draw a run. `other` is the run it is set against (null for none), `aligned` whether what they share is shortened
      so that the strips of all rows part at the same place. */
function draw(box, run, other, name, aligned) {
  const steps = run.steps,
    found = other && other !== run ? parting(run, other) : null;
  box.classList.toggle("aligned", Boolean(aligned && found));
  if (!found) {
    box.replaceChildren(...steps.map(token));
    return;
  }
  if (!aligned) {
    const parts = steps.map(token);
    if (found.kind) parts.splice(found.index, 0, sign(found, name));
    box.replaceChildren(...parts);
  } else {
    const cut = found.kind ? found.index : spoken(run).length,
      { shown, hidden } = tail(steps.slice(0, cut));
    const shared = el(
      "span",
      { class: "shared", title: `${formatNumber(cut)} tokens as ${name}` },
      el("span", {}, hidden ? el("span", { class: "quiet" }, "… ") : null, ...shown.map(token)),
    );
    box.replaceChildren(
      shared,
      el("span", { class: "rest" }, found.kind ? sign(found, name) : null, ...steps.slice(cut).map(token)),
    );
  }
}

/** In words that two runs that are over took the same tokens; nothing where they did not. */
function alike(run, other, name) {
  if (!run.end || !other?.end) return "";
  const mine = spoken(run),
    theirs = spoken(other);
  if (mine.length !== theirs.length || mine.some((step, i) => step.id !== theirs[i].id)) return "";
  return mine.length === 1 ? `the same token as ${name}` : `the same ${formatNumber(mine.length)} tokens as ${name}`;
}

export const tokenStrips = { alike, draw };

/* One row for each method, with its numbers over all seeds and prompts and its text below. A row unfolds into its runs.
   When all runs are done, methods that wrote the same tokens are grouped: the group has the numbers and the text, its
   members only what differs, which is mostly the cost. */

const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const amount = (value) =>
  !Number.isFinite(value)
    ? "∞"
    : value < 10
      ? value.toFixed(2)
      : value < 100
        ? value.toFixed(1)
        : value < 1e4
          ? formatNumber(Math.round(value))
          : value > 1e6
            ? "> 10⁶"
            : short.format(value);
const mean = (value) =>
  Number.isInteger(value)
    ? formatNumber(value)
    : value < 1e4
      ? formatNumber(Math.round(10 * value) / 10)
      : short.format(value);
const times = (value) => `×${value < 10 ? value.toFixed(2) : value.toFixed(1)}`;

/** The middle and both ends of what was measured; null where nothing was. */
function spread(values) {
  const known = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  if (!known.length) return null;
  const half = known.length >> 1;
  return {
    middle: known.length % 2 ? known[half] : (known[half - 1] + known[half]) / 2,
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
    low: known[0],
    high: known[known.length - 1],
  };
}
const ends = (found, show) =>
  found && show(found.low) !== show(found.high) ? `${show(found.low)}–${show(found.high)}` : "";
/** A measure's mean over the runs, and from where to where it goes. */
function measured(key, show) {
  return (runs) => {
    const found = spread(runs.map((run) => run.end[key]));
    return found
      ? { value: found.mean, shown: show(found.mean), minor: ends(found, show) }
      : { value: null, shown: "—" };
  };
}
/** The perplexity of all tokens of all runs together: surprisals add up, perplexities do not. */
function perplexity(key, ...kinds) {
  return (runs) => {
    const parts = runs.flatMap((run) => kinds.map((kind) => run.end[kind]));
    const tokens = parts.reduce((sum, part) => sum + part.tokens, 0),
      nats = parts.reduce((sum, part) => sum + (part.nats ?? Infinity), 0);
    if (!tokens) return { value: null, shown: "—" };
    return {
      value: Math.exp(nats / tokens),
      shown: amount(Math.exp(nats / tokens)),
      minor: ends(spread(runs.map((run) => run.end[key])), amount),
    };
  };
}
/** Why texts are not valid although no rule was broken. */
const UNFINISHED = { "token budget": "cut off", "dead end": "stuck" };
/** How many of the runs are so: a share, with a sign that does without colour. What was cut off before it could be
      so is no fault of the method's. */
function share(key) {
  return (runs) => {
    const known = runs.filter((run) => run.end[key] !== null && run.end[key] !== undefined),
      yes = known.filter((run) => run.end[key]).length;
    if (!known.length) return { value: null, shown: "—" };
    const [sign, tone] = yes === known.length ? ["✓", "good"] : yes ? ["◐", "warn"] : ["✗", "no"];
    return { value: yes / known.length, shown: known.length > 1 ? `${sign} ${yes}/${known.length}` : sign, tone };
  };
}
/** The same of valid texts, with how many were never finished. */
function valid(runs) {
  const stopped = Object.entries(UNFINISHED)
    .map(([stop, words]) => [words, runs.filter((run) => !run.end.valid && run.end.stop === stop).length])
    .filter(([, count]) => count);
  const found = share("valid")(runs),
    cut = stopped.length === 1 && stopped[0][0] === "cut off" && stopped[0][1] === runs.length;
  if (cut) Object.assign(found, { shown: found.shown.replace("✗", "…"), tone: "quiet" });
  return {
    ...found,
    minor: stopped.map(([words, count]) => (runs.length > 1 ? `${count} ${words}` : words)).join(", "),
  };
}
/** Passes of the model for each token of all runs together. */
function passes(runs) {
  const sum = (key) => runs.reduce((total, run) => total + run.end[key], 0),
    value = sum("forward_passes") / Math.max(1, sum("tokens"));
  return { value, shown: value.toFixed(2), minor: `${mean(sum("forward_passes") / runs.length)} a run`, bar: value };
}
const MAX_SPREAD = 1.5, // as in compare.py
  MIN_TIMED_TOKENS = 200;
const timedTokens = (runs) => runs.reduce((sum, run) => sum + (run.end?.tokens_per_second ? run.end.tokens : 0), 0);
const rates = (runs) => spread(runs.filter((run) => run.end).map((run) => run.end.tokens_per_second));
/** The median in the three digits that are shown: the ratio of two shown rates is the shown ratio. */
const rate = (found) => Number(found.middle.toPrecision(3));
const perSecond = (value) => `${value < 100 ? Number(value.toPrecision(3)) : formatNumber(Math.round(value))}/s`;
function speed(runs, all) {
  const own = rates(runs),
    alone = all.filter((run) => run.method === "unconstrained" && run.end),
    base = rates(alone);
  if (!own) return { value: null, shown: "—" };
  const value = rate(own),
    found = {
      value,
      shown: perSecond(value),
      bar:
        value /
        Math.max(
          value,
          ...[...new Set(all.map((run) => run.method))].map(
            (name) => rates(all.filter((run) => run.method === name))?.middle ?? 0,
          ),
        ),
    };
  if (!base) return found;
  const why = noise(runs, alone, base, value);
  return why
    ? { ...found, minor: "no ratio", title: `No ratio: ${why}` }
    : { ...found, shown: times(value / rate(base)), minor: perSecond(value) };
}
/** Why a ratio of speeds would be noise; nothing where it would not. */
function noise(runs, alone, base, value) {
  if (alone.length < 2) return "one run of the model alone; use two seeds or more";
  if (base.high > MAX_SPREAD * base.low)
    return `the model alone ran at ${perSecond(base.low)} to ${perSecond(base.high)}, which is too uneven`;
  const least = Math.min(timedTokens(runs), timedTokens(alone));
  if (least < MIN_TIMED_TOKENS) return `${least} timed tokens are too few; ${MIN_TIMED_TOKENS} are needed`;
  const own = runs.filter((run) => run.end),
    sum = (key) => own.reduce((all, run) => all + run.end[key], 0);
  return value > rate(base) && sum("forward_passes") > 0.995 * sum("tokens")
    ? "the method needs as many passes of the model as the model alone, so it cannot be faster"
    : "";
}

/* A column: its head, what it means, whether more is better, and what it shows of a method's runs. */
const COLUMNS = {
  valid: {
    head: "Valid",
    title:
      "Texts that the grammar accepts. A text cut off at the token budget is not one; a run is stuck " +
      "where the method allows no token",
    more: true,
    of: valid,
  },
  proper: {
    head: "Proper",
    title: "The tokenizer itself would have written the text in these tokens",
    more: true,
    of: share("proper"),
  },
  perplexity: {
    head: "Perplexity",
    title: "How surprised the model was, before any mask: 1 is not at all. The end token is left out",
    of: perplexity("perplexity", "free", "forced"),
  },
  free: {
    head: "free",
    title: "Perplexity of the tokens the model could choose",
    of: perplexity("perplexity_free", "free"),
  },
  forced: {
    head: "forced",
    title: "Perplexity of the tokens that were the only ones allowed",
    of: perplexity("perplexity_forced", "forced"),
  },
  bits: {
    head: "Mask bits",
    title: "Σ −log₂ of what the mask kept: how much of what the model wanted was forbidden, over the whole text",
    of: measured("mask_bits", mean),
  },
  changed: {
    head: "Interventions",
    title: "Tokens where the mask took the model's first choice away",
    of: measured("interventions", mean),
  },
  passes: {
    head: "Passes / token",
    title: "Forward passes of the model for each token: the cost that no other work on the machine changes",
    of: passes,
    cost: true,
  },
  tokens: { head: "Tokens", title: "Tokens of the text, the end token included", of: measured("tokens", mean) },
  speed: {
    head: "Speed",
    title:
      "Median tokens a second, divided by the median of the model alone. There is no ratio " +
      "where it would be noise: too few tokens, uneven runs, or a ratio above 1 without fewer passes of the model",
    more: true,
    of: speed,
    cost: true,
  },
};
const WIDE = Object.keys(COLUMNS).length + 1;

export function createCompareTable(table, doors) {
  let order = null,
    down = false,
    now = /** @type {any} */ (null);
  const opened = new Set(),
    rows = new Map();
  let groups = []; // methods that wrote the same tokens in every run
  const heads = Object.entries(COLUMNS).map(([key, column]) =>
    el(
      "th",
      { scope: "col", "data-of": key, title: column.title },
      el("button", { type: "button", class: "bare", onclick: () => sort(key) }, column.head),
    ),
  );
  const _body = el("tbody");
  table.append(
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el(
          "th",
          { scope: "col", class: "way" },
          el("button", { type: "button", class: "bare", onclick: () => sort(null) }, "Method"),
        ),
        ...heads,
      ),
    ),
  );

  function sort(key) {
    if (key === null) order = null;
    else if (order === key) down = !down;
    else {
      order = key;
      down = Boolean(COLUMNS[key].more);
    }
    for (const head of table.querySelectorAll("thead th")) head.removeAttribute("aria-sort");
    if (order)
      table.querySelector(`thead [data-of=${order}]`).setAttribute("aria-sort", down ? "descending" : "ascending");
    arrange();
  }
  /** Rows in their order; a method that has no such number comes last. */
  function arrange() {
    if (!now) return;
    const names = [...now.methods];
    if (order) {
      const value = Object.fromEntries(
        names.map((name) => {
          const runs = done(name);
          return [name, runs.length ? COLUMNS[order].of(runs, now.runs).value : null];
        }),
      );
      names.sort(
        (a, b) =>
          Number(value[a] === null) - Number(value[b] === null) ||
          (down ? value[b] - value[a] : value[a] - value[b]) ||
          0,
      );
    }
    const held = /** @type {HTMLElement} */ (document.activeElement);
    const placed = new Set();
    for (const name of names) {
      const group = groupOf(name);
      if (group && !placed.has(group)) {
        placed.add(group);
        table.append(
          group.body,
          ...names.filter((each) => group.names.includes(each)).map((each) => rows.get(each).group),
        );
      }
      if (!group) table.append(rows.get(name).group);
    }
    if (table.contains(held)) held.focus();
  }
  const of = (name) => now.runs.filter((run) => run.method === name);
  const done = (name) => of(name).filter((run) => run.end);
  const shown = (name) => of(name).find((run) => run.prompt === now.shown.prompt && run.seed === now.shown.seed);

  /** All rows anew, for another comparison. */
  function begin(comparison) {
    now = comparison;
    opened.clear();
    rows.clear();
    groups = [];
    for (const old of table.querySelectorAll("tbody")) old.remove();
    for (const name of now.methods) rows.set(name, row(name));
    arrange();
  }
  function row(name) {
    const fold = el(
      "button",
      { type: "button", class: "bare fold", "aria-expanded": "false", onclick: () => unfold(name) },
      el("b", {}, name),
    );
    const state = el("span", { class: "state quiet" }),
      cells = Object.keys(COLUMNS).map((key) => el("td", { "data-of": key }));
    const why = el("td", { class: "refused", colspan: String(WIDE - 1), hidden: true });
    const line = stripLine(() => shown(name), name);
    const numbers = el(
      "tr",
      { class: "numbers" },
      el("th", { scope: "row", class: "way" }, fold, line.open, state),
      ...cells,
      why,
    );
    return {
      fold,
      state,
      cells,
      why,
      line,
      numbers,
      group: el("tbody", { "data-name": name }, numbers, line.row),
      runs: [],
    };
  }
  function stripLine(run, name) {
    const box = el("div", { class: "strip", role: "group", "aria-label": `Text of ${name}` });
    const open = el(
      "button",
      {
        type: "button",
        class: "bare open",
        title: "This run in the workbench, token by token",
        "aria-label": `Open ${name} in the workbench`,
        onclick: () => doors.open(run()),
      },
      "Open",
    );
    return { box, open, row: el("tr", { class: "text" }, el("td", { colspan: String(WIDE) }, box)) };
  }

  /** The numbers of some runs into cells; a ratio is made with the runs of `all`. */
  function fill(cells, runs, all = now.runs) {
    for (const [i, column] of Object.values(COLUMNS).entries())
      put(cells[i], runs.length ? column.of(runs, all) : { shown: "" });
  }
  function put(cell, found) {
    cell.title = found.title ?? "";
    cell.replaceChildren(
      el("span", { class: `n ${found.tone ?? ""}` }, found.shown),
      el("span", { class: "minor" }, found.minor ?? ""),
    );
    if (found.bar !== undefined)
      cell.append(
        el(
          "span",
          { class: "cost", "aria-hidden": "true" },
          el("i", { style: `width: ${(100 * Math.min(1, found.bar)).toFixed(1)}%` }),
        ),
      );
  }

  // -- methods that wrote the same ------------------------------------------------------------------
  const OPEN = 5; // groups with at most that many members are open from the start
  const groupOf = (name) => groups.find((group) => group.names.includes(name));
  /** Groups the methods whose runs are all over and have the same tokens, run for run. */
  function group() {
    const written = new Map();
    for (const name of now.methods) {
      const runs = of(name),
        key = runs.every((run) => run.end) ? JSON.stringify(runs.map((run) => run.steps.map((step) => step.id))) : name;
      written.set(key, [...(written.get(key) ?? []), name]);
    }
    groups = [...written.values()].filter((names) => names.length > 1).map(grouped);
    showAll();
  }
  function grouped(names) {
    const lead = names.includes(now.against) ? now.against : names[0],
      count = done(lead).reduce((sum, run) => sum + run.steps.filter((step) => !step.end).length, 0),
      runs = done(lead).length;
    const fold = el(
      "button",
      { type: "button", class: "bare fold", "aria-expanded": "true" },
      el("b", {}, `${names.length} methods`),
    );
    const words = `wrote the same ${several(count, "token")}${runs > 1 ? ` in ${runs} runs` : ""}`;
    const cells = Object.keys(COLUMNS).map((key) => el("td", { "data-of": key })),
      line = stripLine(() => shown(lead), `${names.length} methods`);
    const numbers = el(
      "tr",
      { class: "numbers" },
      el(
        "th",
        { scope: "row", class: "way" },
        fold,
        line.open,
        el("span", { class: "state quiet", title: names.join(", ") }, words),
      ),
      ...cells,
    );
    const made = {
      names,
      lead,
      cells,
      line,
      body: el("tbody", { class: "same", "data-lead": lead }, numbers, line.row),
    };
    const reveal = (open) => {
      fold.setAttribute("aria-expanded", String(open));
      for (const name of names) rows.get(name).group.hidden = !open;
    };
    fold.addEventListener("click", () => reveal(fold.getAttribute("aria-expanded") !== "true"));
    reveal(names.length <= OPEN && innerWidth > 640); // a phone shows few columns, and members have no numbers in them
    return made;
  }
  /** A group's numbers: those of its members where they agree, else from where to where they go. */
  function showGroup({ names, lead, cells, line }) {
    Object.values(COLUMNS).forEach((column, i) => {
      const found = names
        .map((name) => column.of(done(name), now.runs))
        .filter((each) => each.value !== null)
        .sort((a, b) => a.value - b.value);
      const [low, high] = [found[0], found[found.length - 1]];
      put(
        cells[i],
        !found.length
          ? { shown: "—" }
          : low.shown === high.shown
            ? { ...low, bar: undefined }
            : { shown: `${low.shown.replace(/\/s$/, "")}–${high.shown.replace(/^×/, "")}` },
      );
    });
    strip(line, shown(lead));
  }
  const beside = (run, name) => of(name).find((each) => each.prompt === run.prompt && each.seed === run.seed);
  /** In words whose tokens a run has: of the one it is set against, or of one above; nothing where they are its own. */
  function shared(run) {
    const above = now.methods.slice(0, now.methods.indexOf(run.method)).filter((name) => name !== now.against);
    return [now.against, ...above].map((name) => tokenStrips.alike(run, beside(run, name), name)).find(Boolean) ?? "";
  }
  /** Draws a run's text; says in words where another row has it. */
  function strip({ box, open, row }, run, member = false) {
    open.disabled = !run?.end || now.running;
    const other = run && beside(run, now.against),
      alike = now.aligned && run && run.method !== now.against ? shared(run) : "";
    row.hidden = member || Boolean(alike) || (Boolean(run?.why) && !run.steps.length);
    if (!run || row.hidden) return alike;
    tokenStrips.draw(box, run, other?.steps.length ? other : null, now.against, now.aligned);
    box.classList.toggle("writing", run === now.writing);
    return "";
  }
  const STATE = { waiting: "waiting", writing: "writes…", stopped: "stopped" };
  function said(name, runs) {
    const failed = runs.find((run) => run.why),
      live = runs.find((run) => run === now.writing);
    if (live) return now.seeds.length > 1 ? `seed ${live.seed}` : STATE.writing;
    if (failed)
      return runs.some((run) => run.end)
        ? `${runs.filter((run) => run.why).length} of ${runs.length} runs could not be`
        : "";
    const done = runs.filter((run) => run.end).length;
    if (done === runs.length) return doors.about(name)?.title ?? "";
    return `${now.running ? STATE.waiting : STATE.stopped}${done ? `, ${done} of ${runs.length} runs done` : ""}`;
  }

  /** One method's rows as its runs stand now. */
  function show(name) {
    const here = rows.get(name),
      runs = of(name),
      over = done(name),
      failed = !over.length ? runs.find((run) => run.why) : null;
    const own = groupOf(name),
      alike = strip(here.line, shown(name), Boolean(own)),
      words = said(name, runs);
    here.state.textContent = (!own && alike) || words;
    here.state.title = doors.about(name)?.detail ?? "";
    here.group.classList.toggle("member", Boolean(own));
    here.group.classList.toggle("live", runs.includes(now.writing));
    here.group.classList.toggle("failed", Boolean(failed));
    here.why.hidden = !failed;
    for (const cell of here.cells) cell.hidden = Boolean(failed);
    if (failed) here.why.replaceChildren(el("span", {}, failed.why));
    else fill(here.cells, over);
    if (own)
      for (const [i, column] of Object.values(COLUMNS).entries())
        here.cells[i].classList.toggle("equal", !column.cost && here.cells[i].textContent === own.cells[i].textContent);
    here.fold.disabled = runs.length < 2 || Boolean(failed);
    if (opened.has(name)) details(name);
  }
  function unfold(name) {
    if (!opened.delete(name)) opened.add(name);
    const here = rows.get(name);
    here.fold.setAttribute("aria-expanded", String(opened.has(name)));
    here.group.classList.toggle("open", opened.has(name));
    if (opened.has(name)) {
      details(name);
      return;
    }
    for (const one of here.runs) {
      one.numbers.remove();
      one.line.row.remove();
    }
    here.runs = [];
  }
  /** Every run of a method, under it. */
  function details(name) {
    const here = rows.get(name),
      runs = of(name);
    if (here.runs.length !== runs.length) {
      here.runs = runs.map((run) => {
        const cells = Object.keys(COLUMNS).map((key) => el("td", { "data-of": key })),
          line = stripLine(() => run, `${name}, seed ${run.seed}`);
        line.row.classList.add("one");
        const which = [
          now.prompts.length > 1 ? `prompt ${now.prompts.indexOf(run.prompt) + 1}` : "",
          `seed ${run.seed}`,
        ]
          .filter(Boolean)
          .join(", ");
        const state = el("span", { class: "state quiet" }),
          numbers = el(
            "tr",
            { class: "numbers one" },
            el("th", { scope: "row", class: "way" }, el("span", {}, which), line.open, state),
            ...cells,
          );
        here.group.append(numbers, line.row);
        return { run, cells, line, numbers, state };
      });
    }
    for (const one of here.runs) {
      fill(one.cells, one.run.end ? [one.run] : [], []);
      one.state.textContent = strip(one.line, one.run) || one.run.why;
    }
  }
  function showAll() {
    groups.forEach(showGroup);
    for (const name of now.methods) show(name);
  }

  return { begin, show, showAll, group, arrange };
}
