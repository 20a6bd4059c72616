/* The exact distribution of a finite language: how likely each text is under every method, against the model's own
   share of it among the accepted texts. Computed by the server, not sampled. */

import { createLatest } from "./ask.js";
import { createButton, createTable, csvText, download, el, svgEl } from "./dom.js";
import { fileNameNow } from "./state.js";
import { formatNumber, formatPercent, glyphs, spelledText } from "./tokens.js";

/** @typedef {{ about(name: string): { title: string } | undefined, small(): void,
      distribution(ask: Ask, sent: object): Promise<Answer<Distribution>> }} ExactDoors */

/** @typedef {{ latest: ReturnType<typeof createLatest>, card: HTMLElement, doors: ExactDoors }} ExactCard */

const OWN = {
  own: ["the model's own", "The model's own probability of each accepted text, over all its spellings in tokens"],
  own_proper: ["own, proper", "The same, over the tokenizer's own spelling of each text alone"],
};

/** @import { Answer, DistanceCurve, Distribution } from "./wire" */
/** @import { Ask } from "./ask.js" */
/* The chart of distances: its size, and the room around the plot, in pixels of the picture. */
const WIDE = 640;
const HIGH = 230;
const LEFT = 44;
const RIGHT = 112;
const TOP = 12;
const BOTTOM = 38;

/** How far the drawn texts are from the model's own distribution, against the forward passes spent.
    @param {DistanceCurve[]} curves */
function curvesFigure(curves) {
  const passes = curves[0].points.map(([x]) => x),
    [least, most] = [Math.log(passes[0]), Math.log(passes[passes.length - 1])];
  const across = (x) => LEFT + ((Math.log(x) - least) / (most - least)) * (WIDE - LEFT - RIGHT),
    down = (y) => TOP + (1 - y) * (HIGH - TOP - BOTTOM);
  const ends = curves.map(({ name, points }) => `${name} ${points[points.length - 1][1].toFixed(2)}`);
  const chart = svgEl("svg", {
    viewBox: `0 0 ${WIDE} ${HIGH}`,
    role: "img",
    "aria-label": `Total variation after ${formatNumber(passes[passes.length - 1])} forward passes: ${ends.join(", ")}`,
  });
  for (const y of [0, 0.5, 1]) {
    chart.append(svgEl("line", { x1: LEFT, x2: WIDE - RIGHT, y1: down(y), y2: down(y), class: "grid" }));
    chart.append(svgEl("text", { x: LEFT - 8, y: down(y) + 4, "text-anchor": "end" }, String(y)));
  }
  for (const x of passes)
    chart.append(svgEl("text", { x: across(x), y: HIGH - BOTTOM + 17, "text-anchor": "middle" }, formatNumber(x)));
  chart.append(
    svgEl(
      "text",
      { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 4, "text-anchor": "middle", class: "axis" },
      "forward passes of the model",
    ),
  );
  // names at the ends of the lines, from the lowest up, at least a line of text apart
  let free = HIGH;
  const named = curves
    .map((curve, i) => ({ curve, i, at: down(curve.points[curve.points.length - 1][1]) }))
    .sort((a, b) => b.at - a.at);
  for (const { curve, i, at } of named) {
    const line = curve.points.map(([x, y]) => `${across(x).toFixed(1)},${down(y).toFixed(1)}`).join(" ");
    free = Math.min(at + 4, free - 14);
    chart.append(svgEl("polyline", { points: line, class: `curve c${i % 5}` }));
    chart.append(svgEl("text", { x: WIDE - RIGHT + 8, y: free, class: `name c${i % 5}` }, curve.name));
  }
  const texts = curves.map(({ name, texts }) => `${name} ${formatNumber(Math.round(texts))}`).join(", ");
  return el(
    "figure.curves",
    el(
      "figcaption",
      el("b", "Total variation of all drawn texts, by the forward passes they cost."),
      ` Texts drawn at the right end: ${texts}. Simulated on the scored texts of the table.`,
    ),
    el("div.plot", { tabindex: "0", role: "group", "aria-label": "Chart of distances" }, chart),
  );
}

/* A comparison as files: one row for each run (CSV), or every record (NDJSON). */
const FIELDS = [
  "valid",
  "proper",
  "ended",
  "stop",
  "tokens",
  "free_tokens",
  "forced_tokens",
  "perplexity",
  "perplexity_free",
  "perplexity_forced",
  "mask_bits",
  "interventions",
  "forward_passes",
  "seconds",
  "tokens_per_second",
  "compile_ms",
];

const text = (run) => spelledText(run.steps);

const named = () => `${fileNameNow()}.compare`;

/** A row a run. Texts as JSON strings: white space is seen, and no table takes one for a formula. */
function csv({ runs }) {
  const rows = runs.map((run) => [
    run.method,
    JSON.stringify(run.prompt),
    run.seed,
    ...FIELDS.map((field) => run.end?.[field]),
    run.why ?? "",
    run.steps.length ? JSON.stringify(text(run)) : "",
  ]);
  const heads = ["method", "prompt", "seed", ...FIELDS, "error", "text"];
  download(`${named()}.csv`, "text/csv", csvText([heads, ...rows]));
}

/** What was asked, then a line a run with its measures and its tokens. */
function ndjson({ about, model, runs }) {
  const lines = runs.map(({ method, prompt, seed, end, why, steps }) => ({
    k: "run",
    method,
    prompt,
    seed,
    ...(why ? { error: why } : {}),
    ...end,
    text: text({ steps }),
    steps,
  }));
  download(
    `${named()}.ndjson`,
    "application/x-ndjson",
    [{ k: "head", ...about, model }, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
}

export const comparisonFiles = { csv, ndjson };

const figure = (value) => (value === null ? "∞" : value < 0.001 && value > 0 ? "< 0.001" : value.toFixed(3));

/** Methods that come to the same share a column: a distribution is what a mask lets through, however it is made. */
function mergeColumns(answer) {
  const found = new Map();
  answer.columns.forEach((column, i) => {
    const same = JSON.stringify(OWN[column.name] ? column.name : answer.texts.map(({ p }) => p[i].toPrecision(9)));
    if (found.has(same)) found.get(same).names.push(column.name);
    else found.set(same, { ...column, at: i, names: [column.name] });
  });
  return [...found.values()];
}

const namesInWords = (names) => (names.length < 4 ? names.join(", ") : `${names[0]} and ${names.length - 1} more`);

/** @param {ExactCard} exact */
function headOf(exact, column) {
  const [title, says] = OWN[column.name] ?? [
    namesInWords(column.names),
    column.names.map((name) => `${name}: ${exact.doors.about(name)?.title ?? ""}`).join("\n"),
  ];
  const words =
    column.name === "own"
      ? [el("span.quiet", "what the others should be")]
      : [
          el(
            "span",
            { title: "Total variation: the largest difference between the two probabilities of a set of texts" },
            "TV ",
            el("b", figure(column.total_variation)),
          ),
          el(
            "span",
            {
              title:
                "Kullback–Leibler divergence from the model's own distribution to the method's, in nats; ∞ if " +
                "the method gives an accepted text probability 0",
            },
            "KL ",
            el("b", figure(column.kl)),
          ),
        ];
  return el("th", { scope: "col", title: says }, el("code", title), el("span.far", ...words));
}

/** A bar, with a tick where the model's own would end. */
function bar(value, own, first) {
  const wide = (p) => `${(100 * p).toFixed(2)}%`;
  const track = el(
    "span.track",
    { "aria-hidden": "true" },
    el("i", { style: `width: ${wide(value)}`, class: first ? "own" : null }),
  );
  if (!first) track.append(el("u", { style: `left: ${wide(own)}` }));
  return el("td", el("span.p", track, el("span.n", formatPercent(value))));
}

const row = (name, values) =>
  el("tr", el("th", { scope: "row" }, name), ...values.map((value, i) => bar(value, values[0], i === 0)));

/** The likeliest text of a column, with its chance. */
function likeliest(answer, name) {
  const index = answer.columns.findIndex((column) => column.name === name);
  if (index < 0) return null;
  const [{ text, p }] = [...answer.texts].sort((a, b) => b.p[index] - a.p[index]);
  return { text, p: p[index] };
}

/** What the mask makes of the model's own answer, in a sentence. */
function headline(answer) {
  const own = likeliest(answer, "own"),
    masked = likeliest(answer, "automaton");
  if (!own || !masked) return [];
  const shown = ({ text, p }) => [el("b", text.trim() || "the empty text"), ` (${(100 * p).toFixed(0)}\u00a0%)`];
  const same = own.text === masked.text;
  return [
    el(
      "p.headline",
      "Among the accepted texts, the model's own answer is ",
      ...shown(own),
      same ? ". The mask keeps it: " : ". The mask makes it ",
      ...(same ? [`${(100 * masked.p).toFixed(0)}\u00a0%`] : shown(masked)),
      ".",
    ),
  ];
}

/** @param {ExactCard} exact */
function draw(exact, answer) {
  const columns = mergeColumns(answer),
    only = (p) => columns.map(({ at }) => p[at]);
  const rows = answer.texts.map(({ text, p }) => row(el("code", glyphs({ text }) || "(empty)"), only(p)));
  if (answer.others)
    rows.push(row(el("span.quiet", `${formatNumber(answer.count - answer.texts.length)} others`), only(answer.others)));
  const failed = Object.entries(answer.failed).map(([name, why]) =>
    el("p.quiet.small", el("code", name), " has no column: ", why),
  );
  exact.card.replaceChildren(
    el(
      "div.bar",
      el("h2", "Exact distribution"),
      el(
        "span",
        `${formatNumber(answer.count)} ${answer.count === 1 ? "text" : "texts"}, ` +
          `${formatNumber(answer.spellings)} spellings in tokens · temperature 1 · computed, not sampled`,
      ),
    ),
    el("p.asked", el("span.quiet", "After the prompt "), el("code", answer.prompt)),
    ...headline(answer),
    el(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": "Exact distribution" },
      createTable(["Text", ...columns.map((column) => headOf(exact, column))], rows),
    ),
    el(
      "div.notes",
      el(
        "p.quiet.small",
        el(
          "span.track.sample",
          { "aria-hidden": "true" },
          el("i", { style: "width: 70%" }),
          el("u", { style: "left: 45%" }),
        ),
        " The bar is the method's probability, the tick the model's own. A mask renormalises the " +
          "probabilities at every token and does not look ahead: a likely first token is taken even where all " +
          "texts that continue it are unlikely.",
      ),
      el(
        "p.quiet.small",
        el("b", "TV"),
        ", total variation: the largest difference between the probabilities that the method and the model " +
          "alone give to a set of texts; 0 means equal distributions, 1 means no text in common.",
      ),
      el(
        "p.quiet.small",
        el("b", "KL"),
        ", Kullback–Leibler divergence, in nats: the mean of log (own probability / method's probability) over " +
          "texts drawn from the model's own distribution; 0 means equal distributions, ∞ that the method never " +
          "writes one of these texts.",
      ),
      ...failed,
    ),
    ...(answer.curves.length ? [curvesFigure(answer.curves)] : []),
  );
  exact.card.hidden = false;
}

/** @param {ExactCard} exact */
function note(exact, text, ...ways) {
  exact.card.replaceChildren(el("div.bar", el("h2", "Exact distribution"), el("span", text), ...ways));
  exact.card.hidden = false;
}

const button = (label, title, act) => createButton(label, { class: "link", title }, act);

/** Of what was compared; nothing for null. @param {ExactCard} exact */
function show(exact, comparison, further = false) {
  exact.latest.drop();
  if (!comparison) {
    exact.card.hidden = true;
    return;
  }
  if (comparison.distribution) {
    draw(exact, comparison.distribution);
    return;
  }
  note(exact, "asking the model about every text…");
  const sent = { ...comparison.about, prompts: [comparison.shown.prompt], further };
  exact.latest.run(async (ask) => tell(exact, await exact.doors.distribution(ask, sent), comparison, further));
}

/** @param {ExactCard} exact */
function tell(exact, answer, comparison, further) {
  if (answer.ok) {
    draw(exact, answer);
    return;
  }
  const more =
    further || answer.fault
      ? null
      : button("Look further", "Try up to ten times as many texts: the model scores each, which takes a while", () =>
          show(exact, comparison, true),
        );
  note(
    exact,
    `Not computed for this grammar: ${answer.why}`,
    more,
    button("Try six names", "A small language on which each method has a different distribution", exact.doors.small),
  );
}

export function createExactCard(card, doors) {
  /** @type {ExactCard} */
  const exact = { latest: createLatest(), card, doors };
  return { show: (comparison, further) => show(exact, comparison, further) };
}
