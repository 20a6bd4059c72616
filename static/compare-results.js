/* Results files: what a file of many runs is, its summary, a plot, and its rows, which the server sorts and filters and
   sends in pages. A file stays in the browser, and is sent again where the server no longer has it. */

import { createLatest } from "./ask.js";
import { debounce, download, el, radios, showNotice, svgEl } from "./dom.js";
import { randomName, state } from "./state.js";
import { formatNumber, glyphs, several } from "./tokens.js";

/** @import { OpenedResults, OpenedRow, ResultsBox, ResultsRow } from "./wire" */

const PART = 1_000_000; // bytes of a file in a request
const PAGE = 50;
/** Columns that are shown first, in this order. */
const USUAL = (
  "row name id subset model contender engine version experiment seed ended valid proper " +
  "compiled passing tokens perplexity interventions forward_passes over under by_policy " +
  "masks ms task_seconds text reason error"
).split(" ");
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** A number with at most four figures, as the command prints it. */
function figure(value) {
  if (Number.isInteger(value)) return formatNumber(value);
  return Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
}
/** A cell as it is shown: white space is made visible in what a model read or wrote. */
function shown(value, name) {
  if (value === null) return "–";
  if (typeof value === "number") return figure(value);
  return name === "text" || name === "prompt" ? glyphs({ text: value }) : String(value);
}

/** Base64 of a part of a file. @param {Blob} part @returns {Promise<string>} */
const encoded = (part) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1] ?? ""));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(part);
  });

/** Round numbers between two values, about five. */
function ticks(low, high) {
  const ten = 10 ** Math.floor(Math.log10((high - low) / 4));
  const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => (high - low) / n <= 5) ?? ten;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(+at.toPrecision(12));
  return found;
}

const WIDE = 720,
  LEFT = 190,
  RIGHT = 16,
  TOP = 8,
  LINE = 26;
/** A box plot: a line for each group. @param {ResultsBox[]} groups @param {string} column */
function boxes(groups, column) {
  const low = Math.min(...groups.map((one) => one.low)),
    most = Math.max(...groups.map((one) => one.high)),
    high = most > low ? most : low + Math.max(1, Math.abs(low));
  const across = (x) => LEFT + ((x - low) / (high - low)) * (WIDE - LEFT - RIGHT);
  const bottom = TOP + LINE * groups.length;
  const say = (one) =>
    `${one.name}: median ${figure(one.median)}, half from ${figure(one.first)} to ${figure(one.third)}`;
  const chart = svgEl("svg", {
    viewBox: `0 0 ${WIDE} ${bottom + 40}`,
    role: "img",
    "aria-label": `${column}. ${groups.map(say).join(". ")}`,
  });
  for (const x of ticks(low, high))
    chart.append(
      svgEl("line", { x1: across(x), x2: across(x), y1: TOP, y2: bottom, class: "grid" }),
      svgEl("text", { x: across(x), y: bottom + 16, "text-anchor": "middle" }, figure(x)),
    );
  chart.append(svgEl("text", { x: (LEFT + WIDE - RIGHT) / 2, y: bottom + 34, "text-anchor": "middle" }, column));
  groups.forEach((one, i) => {
    const middle = TOP + LINE * (i + 0.5),
      line = (from, to) =>
        svgEl("line", { x1: across(from), x2: across(to), y1: middle, y2: middle, class: "whisker" });
    const named = svgEl("text", { x: LEFT - 10, y: middle + 4, "text-anchor": "end", class: "name" });
    named.append(
      shortened(one.name, 26),
      svgEl("title", {}, `${say(one)}; ${several(one.count, "row")}, ${one.outside} beyond the whiskers`),
    );
    const middleAt = {
      x1: across(one.median),
      x2: across(one.median),
      y1: middle - 8,
      y2: middle + 8,
      class: "median",
    };
    const wide = Math.max(1, across(one.third) - across(one.first));
    chart.append(
      named,
      line(one.low, one.first),
      line(one.third, one.high),
      svgEl("rect", { x: across(one.first), y: middle - 8, width: wide, height: 16, class: "box" }),
      svgEl("line", middleAt),
    );
  });
  return chart;
}

/** A table of texts whose first row is the head. The first ``names`` columns are names. */
function summaryTable(rows, names) {
  const [head, ...body] = rows;
  const cell = (tag, text, i) => el(tag, { class: i < names ? "way" : null, scope: tag === "th" ? "col" : null }, text);
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...head.map((text, i) => cell("th", text, i)))),
    el("tbody", {}, ...body.map((row) => el("tr", {}, ...row.map((text, i) => cell("td", text, i))))),
  );
}

const UNREADABLE = "the browser cannot read this file: was it moved or changed? Open it again";

/** The card of a results file. ``doors``: the server, and what opens a grammar or a run in the workbench. */
export function createResultsCard(card, doors) {
  const { server } = doors;
  const opening = createLatest(),
    loading = createLatest({ subject: () => about }),
    plotting = createLatest({ subject: () => about }),
    saving = createLatest({
      busy: (waiting) => {
        parts.csv.disabled = waiting;
      },
      subject: () => about,
    });
  let files = /** @type {File[] | null} */ (null), // null for the file the page is served with
    about = /** @type {any} */ (null),
    view = { wanted: "", sort: "", down: false, offset: 0, every: false };
  let parts = /** @type {Record<string, any>} */ ({});

  // -- the file ---------------------------------------------------------------------------------------
  const fail = (words) => say(words, true);
  function say(words, wrong = false) {
    const box = card.querySelector("[role=status]");
    box.textContent = words;
    box.classList.toggle("no", wrong);
  }
  /** Send files in parts. */
  async function send(ask, sending) {
    const upload = randomName();
    const size = sending.reduce((sum, file) => sum + file.size, 0);
    let done = 0;
    for (const [number, file] of sending.entries())
      for (let offset = 0, tries = 0; offset < file.size; ) {
        const base64 = await encoded(file.slice(offset, offset + PART)).catch(() => null);
        if (base64 === null) return { why: UNREADABLE };
        const answer = await ask(server.send_results, { upload, file: number, offset, base64 });
        if (!answer.ok) return { why: answer.why || answer.fault };
        if (answer.received < offset + 1 && ++tries > 3) return { why: "the file did not arrive; open it again" };
        done += Math.max(0, answer.received - offset);
        offset = answer.received;
        if (size > PART) say(`sending, ${Math.floor((100 * done) / size)} %…`);
      }
    return { upload };
  }
  /** Send the file, let the server read it, and return its description. @returns {Promise<any>} */
  async function read(ask, chosen) {
    const sent = chosen ? await send(ask, chosen) : { served: true };
    if (sent.why) return sent;
    say("reading the file…");
    return ask(server.open_results, sent);
  }
  /** Ask about the open file; where the server no longer has it, it is sent again. */
  async function askAbout(ask, question, sent) {
    const asked = () => ask(question, { file: about.file, wanted: view.wanted, ...sent });
    let answer = await asked();
    if (answer.ok && answer.lost) {
      const again = await read(ask, files);
      say("");
      if (!again.ok) return again;
      about.file = again.file;
      answer = await asked();
    }
    return answer.lost ? { why: "the server is too busy to keep the file: try again" } : answer;
  }
  /** Open files, or without any the one the page is served with. What was open stays where that fails. */
  function open(chosen) {
    const wanted = chosen ? [...chosen] : null;
    say("reading the file…");
    opening.run(async (ask) => {
      const answer = await read(ask, wanted);
      if (!answer.ok) {
        fail(`Not opened: ${answer.why || answer.fault}`);
        return;
      }
      files = wanted;
      about = answer;
      view = { wanted: "", sort: "", down: false, offset: 0, every: false };
      say("");
      draw();
    });
  }

  // -- what is shown ----------------------------------------------------------------------------------
  function draw() {
    card.querySelector(".filename").textContent = files?.map((file) => file.name).join(", ") ?? state.results ?? "";
    parts = {
      total: el("span", { class: "quiet total", "aria-live": "polite" }),
      body: el("tbody"),
      head: el("thead"),
      wrong: el("p", { class: "no wrong", role: "alert", hidden: true }),
      plot: el("div", { class: "plot", tabindex: "0", role: "region", "aria-label": "Plot" }),
    };
    card.querySelector(".content").replaceChildren(facts(), ...failures(), ...summary(), ...plots(), rowsPart());
    load();
  }
  function facts() {
    const settings = about.settings.map(([name, value]) => `${name} ${value}`).join(", ");
    return el(
      "p",
      { class: "about" },
      el("b", {}, `${several(about.rows, "row")}: ${about.kind}`),
      about.failed ? `, ${formatNumber(about.failed)} failed` : "",
      about.bad_rows ? `, ${several(about.bad_rows, "line")} cannot be read` : "",
      settings ? el("span", { class: "quiet" }, ` · ${settings}`) : "",
    );
  }
  /** Why rows failed or could not be read. */
  function failures() {
    const lines = [
      ...about.reasons.map((one) => [several(one.rows, "row"), one.why, `first: ${one.first}`]),
      ...about.bad.map((one) => [`line ${formatNumber(one.row)}`, one.why, ""]),
    ];
    if (!lines.length) return [];
    const items = lines.map(([which, why, first]) =>
      el(
        "li",
        {},
        el("b", {}, which),
        ` ${glyphs({ text: why })} `,
        el("span", { class: "quiet" }, glyphs({ text: first })),
      ),
    );
    const show = () => {
      parts.filter.value = "status = failed";
      filtered();
      parts.filter.focus();
    };
    return [
      el(
        "details",
        { class: "reasons" },
        el("summary", {}, `Reasons of ${about.failed ? "failures" : "lines that cannot be read"}`),
        el("ul", {}, ...items),
        about.failed ? el("button", { type: "button", class: "link", onclick: show }, "Show the failed rows") : "",
      ),
    ];
  }
  function summary() {
    if (!about.summary.length) return [];
    const box = { class: "scroll summary", tabindex: "0", role: "region", "aria-label": "Summary" };
    return [el("div", box, summaryTable(about.summary, about.groups.length))];
  }
  function plots() {
    const numbers = about.columns.filter((one) => one.kind === "number").map((one) => one.name);
    if (!numbers.length) return [];
    const first = ["perplexity", "ms", "engine_seconds", "tokens"].find((name) => numbers.includes(name)) ?? numbers[0];
    const pick = el(
      "select",
      { onchange: () => plot() },
      ...numbers.map((name) => el("option", { value: name, selected: name === first }, name)),
    );
    parts.column = pick;
    return [
      el(
        "div",
        { class: "plots" },
        el(
          "div",
          { class: "knobs" },
          el("label", { class: "knob" }, el("span", {}, "plot of"), el("span", { class: "pickwrap" }, pick)),
          el("span", { class: "quiet" }, "quartiles; whiskers to the last value within 1.5 times their distance"),
        ),
        parts.plot,
      ),
    ];
  }
  function plot() {
    if (!parts.column) return;
    const asked = { column: parts.column.value, wanted: view.wanted };
    parts.plotted = asked;
    plotting.run(async (ask) => showPlot(await askAbout(ask, server.results_plot, asked), asked));
  }
  function showPlot(answer, asked) {
    if (!answer.ok) parts.plotted = null;
    parts.plot.replaceChildren(
      ...(answer.ok && answer.groups.length
        ? [
            boxes(answer.groups, asked.column),
            answer.left ? el("p", { class: "quiet" }, `and ${answer.left} groups`) : "",
          ]
        : [el("p", { class: "quiet" }, answer.ok ? "No such row has this number." : answer.why || answer.fault)]),
    );
  }

  // -- the rows ---------------------------------------------------------------------------------------
  const filtered = () => {
    view = { ...view, wanted: parts.filter.value, offset: 0 };
    load();
  };
  function rowsPart() {
    const later = debounce(400, filtered);
    parts.filter = el("input", {
      type: "search",
      placeholder: "text, or tokens > 100 and valid = false",
      "aria-label": "Filter the rows",
      spellcheck: "false",
      oninput: () => later(),
    });
    parts.filter.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.stopPropagation();
      later.now();
    });
    const which = el("div", { class: "seg small", role: "radiogroup", "aria-label": "Columns" });
    radios(
      which,
      "data-every",
      [
        ["", "main columns"],
        ["all", `all ${about.columns.length}`],
      ],
      (key) => {
        view.every = key === "all";
        load();
      },
    )("");
    parts.csv = el("button", { type: "button", onclick: save, title: "The rows of the filter, in this order" }, "CSV");
    const page = (label, title, offset) =>
      el("button", { type: "button", class: "icon", title, "aria-label": title, onclick: () => go(offset()) }, label);
    const last = () => Math.max(0, PAGE * Math.floor((parts.count - 1) / PAGE));
    parts.pager = [
      page("«", "First page", () => 0),
      page("‹", "Previous page", () => Math.max(0, view.offset - PAGE)),
      page("›", "Next page", () => Math.min(last(), view.offset + PAGE)),
      page("»", "Last page", last),
    ];
    const [first, previous, next, end] = parts.pager;
    const box = { class: "scroll rows", tabindex: "0", role: "region", "aria-label": "Rows" };
    return el(
      "div",
      { class: "rowspart" },
      el("div", { class: "knobs" }, parts.filter, which, el("span", { class: "grow" }), parts.csv),
      parts.wrong,
      el("div", box, el("table", {}, parts.head, parts.body)),
      el("div", { class: "knobs pager" }, first, previous, parts.total, next, end),
    );
  }
  function go(offset) {
    view = { ...view, offset };
    load();
  }
  /** The columns that are shown, with their places. */
  function columns() {
    const all = about.columns.map((column, at) => ({ ...column, at }));
    if (view.every) return all;
    const known = all.filter((one) => one.kind); // the others have no values
    const usual = USUAL.map((name) => known.find((one) => one.name === name)).filter(Boolean);
    const some = usual.length > 2 ? usual : known.slice(0, 12);
    return [...(about.failed ? all.filter((one) => one.name === "status") : []), ...some];
  }
  function load() {
    const { sort, down, offset } = view;
    loading.run(async (ask) => showRows(await askAbout(ask, server.results_rows, { sort, down, offset }), offset));
  }
  function showRows(answer, offset) {
    parts.wrong.hidden = Boolean(answer.ok);
    parts.wrong.textContent = answer.ok ? "" : answer.why || answer.fault;
    if (!answer.ok) return; // the rows of the last filter stay
    parts.count = answer.total;
    const to = Math.min(answer.total, offset + PAGE);
    parts.total.textContent = answer.total
      ? `${formatNumber(offset + 1)}–${formatNumber(to)} of ${formatNumber(answer.total)}`
      : "no row";
    for (const [i, button] of parts.pager.entries()) button.disabled = i < 2 ? offset === 0 : to >= answer.total;
    parts.csv.disabled = !answer.total;
    heads();
    parts.body.replaceChildren(...answer.rows.map(line));
    if (parts.plotted?.wanted !== view.wanted) plot();
  }
  function heads() {
    const by = (name) => () => {
      const again = view.sort === name;
      view = { ...view, sort: again && view.down ? "" : name, down: again && !view.down, offset: 0 };
      load();
    };
    const order = (name) => (view.sort === name ? (view.down ? "descending" : "ascending") : null);
    const focused = document.activeElement?.closest?.("th")?.getAttribute("data-of");
    parts.head.replaceChildren(
      el(
        "tr",
        {},
        el("th", { class: "way", scope: "col" }, "#"),
        ...columns().map(({ name, kind }) =>
          el(
            "th",
            { scope: "col", "data-of": name, "aria-sort": order(name), class: kind === "number" ? "n" : null },
            el(
              "button",
              { type: "button", class: "bare", onclick: by(name), title: `Sort by ${name}` },
              shortened(name, 30),
            ),
          ),
        ),
      ),
    );
    if (focused) parts.head.querySelector(`th[data-of="${CSS.escape(focused)}"] button`)?.focus();
  }
  /** The cells of a row; one that failed says why, since it has no values. @param {ResultsRow} row */
  function cells(row) {
    const of = (name) => row.cells[about.columns.findIndex((one) => one.name === name)];
    const chosen = columns();
    if (of("status") === "failed" && !view.every) {
      const said = [el("b", {}, of("key")), ` ${of("error") ?? ""}`];
      return [el("td", { class: "failed", colspan: String(chosen.length) }, ...said)];
    }
    return chosen.map(({ at, kind, name }) =>
      el("td", { class: kind === "number" ? "n" : null }, shown(row.cells[at], name)),
    );
  }
  /** @param {ResultsRow} row */
  function line(row) {
    const button = el("button", { type: "button", class: "link", "aria-expanded": "false" }, formatNumber(row.n));
    const made = el("tr", { "data-n": String(row.n) }, el("td", { class: "way" }, button), ...cells(row));
    button.setAttribute("aria-label", `Row ${row.n}`);
    const latest = createLatest({ subject: () => made.isConnected });
    button.addEventListener("click", () => latest.run((ask) => unfold(ask, row.n, made, button)));
    return made;
  }

  // -- one row ----------------------------------------------------------------------------------------
  async function unfold(ask, n, line, button) {
    const below = line.nextElementSibling;
    if (below?.classList.contains("opened")) {
      below.remove();
      button.setAttribute("aria-expanded", "false");
      return;
    }
    const answer = await askAbout(ask, server.results_row, { n });
    button.setAttribute("aria-expanded", "true");
    const cell = el("td", { colspan: String(line.children.length) });
    cell.append(answer.ok ? detail(answer) : el("p", { class: "no", role: "alert" }, answer.why || answer.fault));
    line.after(el("tr", { class: "opened" }, cell));
  }
  /** @param {OpenedRow} row */
  function detail(row) {
    const of = Object.fromEntries(row.values.map((one) => [one.name, one.value]));
    const long = ({ value }) => typeof value === "string" && (value.length > 60 || value.includes("\n"));
    const item = ({ name, value }) =>
      el(
        "div",
        { class: long({ value }) ? "long" : null },
        el("dt", {}, name),
        el(
          "dd",
          {},
          long({ value })
            ? el("pre", { tabindex: "0", role: "region", "aria-label": name }, value)
            : shown(value, name),
        ),
      );
    const order = [...row.values.filter((one) => !long(one)), ...row.values.filter(long)];
    return el(
      "div",
      { class: "detail" },
      el("div", { class: "knobs" }, ...ways(row, of)),
      el("dl", {}, ...order.map(item)),
    );
  }
  /** What can be done with a row. */
  function ways(row, of) {
    const found = [];
    const button = (label, title, act) => found.push(el("button", { type: "button", title, onclick: act }, label));
    const { grammar, tokens } = row;
    if (grammar) button("Open the grammar in the editor", "With its prompt", () => doors.open(grammar));
    const chat = about.settings.some(([name]) => name === "chat");
    if (grammar && tokens.length && of.contender && !chat) {
      const setting = Object.fromEntries(about.settings);
      const run = {
        grammar,
        tokens,
        method: of.contender,
        seed: of.seed ?? 0,
        temperature: Number(setting.temperature ?? 1),
        model: of.model,
        stop: of.stop ?? "",
        valid: of.valid === true,
      };
      button("Open the run in the workbench", "Its tokens, with all that is known of each", async (event) => {
        const pressed = event.target;
        pressed.disabled = true;
        const why = await doors.run(run);
        pressed.disabled = false;
        if (why) showNotice(`Not opened: ${why}`);
      });
    }
    if (!grammar)
      found.push(
        el("span", { class: "quiet" }, "This file has no grammar for the row, or one too long for the editor."),
      );
    return found;
  }

  // -- the file as CSV --------------------------------------------------------------------------------
  const save = () =>
    saving.run(async (ask) => {
      const pieces = [],
        { wanted, sort, down } = view;
      for (let offset = 0, total = 1; offset < total; ) {
        const answer = await askAbout(ask, server.results_csv, { wanted, sort, down, offset });
        if (!answer.ok) {
          fail(answer.why || answer.fault);
          return;
        }
        pieces.push(answer.text);
        ({ next: offset, total } = answer);
        say(offset < total ? `CSV, ${Math.floor((100 * offset) / total)} %…` : "");
      }
      download("results.csv", "text/csv", pieces.join(""));
    });

  return { open };
}
