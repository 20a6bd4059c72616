/* What leaves the page as files: the grammar, its tests, the machine that is shown, the run. Pictures are made here
   from what is on the page; whole machines are written by the server. */

import { copyText, csvText, download, el, setAttributes, showNotice, svgEl } from "./dom.js";
import { dotText } from "./dot-text.js";
import { notations } from "./notations.js";
import { cards, fileNameNow, grammarOf, nameNow, on, state, titleNow } from "./state.js";
import { hexOf, readOf, spelledText } from "./tokens.js";
import { work } from "./work.js";

/** @import { Answer, Head, Picture } from "./wire" */

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 12; // around a picture, in its own points
const SCALE = 2,
  WIDEST = 8192; // pixels a point in a PNG, and pixels a side may have
let drawn = /** @type {Answer<Picture> | null} */ (null);

on("drawn", (answer) => {
  drawn = answer?.ok ? answer : null;
});

let named = ""; // the model, as people know it
on("model", (answer) => {
  named = (answer.text || "").split(" · ")[0];
});

// -- the grammar ------------------------------------------------------------------------------
const grammar = () => download(fileNameNow() + notations[state.notation].suffix, "text/plain", `${state.text}\n`);
const tests = () =>
  download(
    `${fileNameNow()}.tests.json`,
    "application/json",
    `${JSON.stringify({ ...grammarOf(state), text: undefined, tests: work.now().tests }, null, 1)}\n`,
  );

// -- pictures ---------------------------------------------------------------------------------
const SHAPE = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity"];
const LETTERS = ["font-family", "font-size", "font-weight", "font-style", "text-decoration-line"];
const USUAL = {
  "fill-opacity": "1",
  "stroke-dasharray": "none",
  "stroke-linecap": "butt",
  opacity: "1",
  "font-weight": "400",
  "font-style": "normal",
  "text-decoration-line": "none",
};

/** A copy of a picture as it looks here, its colours written into it, so that it looks so anywhere. */
function copied(live) {
  const copy = live.cloneNode(true),
    box = live.getBBox();
  const originals = [live, ...live.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((each, index) => {
    const look = getComputedStyle(originals[index]);
    if (look.display === "none" || look.visibility === "hidden") {
      each.setAttribute("display", "none");
      return;
    }
    const named = /^(text|tspan)$/.test(each.nodeName)
      ? [...SHAPE, ...LETTERS]
      : /^(g|svg|title|desc)$/.test(each.nodeName)
        ? ["opacity"]
        : SHAPE;
    for (const name of named)
      if (look.getPropertyValue(name) !== USUAL[name]) each.setAttribute(name, look.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex"]) each.removeAttribute(name);
  });
  const [x, y, wide, high] = [box.x - MARGIN, box.y - MARGIN, box.width + 2 * MARGIN, box.height + 2 * MARGIN].map(
    (each) => Math.round(100 * each) / 100,
  );
  setAttributes(copy, { viewBox: [x, y, wide, high].join(" "), width: wide, height: high, xmlns: SVG });
  return {
    copy,
    ground: getComputedStyle(live.closest(".wb")).backgroundColor,
    box: { x, y, width: wide, height: high },
  };
}

/** The pictures in these elements as one picture, one below the other. */
function stacked(lives) {
  const made = lives.map(copied);
  const wide = Math.max(...made.map(({ box }) => box.width)),
    high = made.reduce((sum, { box }) => sum + box.height, 0);
  if (made.length === 1) {
    const [{ copy, ground, box }] = made;
    copy.prepend(svgEl("rect", { ...box, fill: ground }));
    return { text: new XMLSerializer().serializeToString(copy), wide, high };
  }
  const whole = svgEl("svg", { xmlns: SVG, viewBox: `0 0 ${wide} ${high}`, width: wide, height: high });
  whole.append(svgEl("rect", { x: 0, y: 0, width: wide, height: high, fill: made[0].ground }));
  let y = 0;
  for (const { copy, box } of made) {
    whole.append(setAttributes(copy, { x: 0, y }));
    y += box.height;
  }
  return { text: new XMLSerializer().serializeToString(whole), wide, high };
}

/** The picture of the card of pictures. */
function picture() {
  const shown = [...document.querySelectorAll("#wb-picture svg")].filter(
    (svg) => !svg.closest("button, .overview") && svg.getBoundingClientRect().width > 40,
  );
  return shown.length ? stacked(shown.slice(-1)) : null;
}

const NOTHING = "There is no picture on this tab to save.";
const shownTab = () => state.tab;
function svg() {
  const made = picture();
  if (made) download(`${fileNameNow()}-${shownTab()}.svg`, "image/svg+xml", made.text);
  else showNotice(NOTHING);
}

async function png() {
  const made = picture();
  if (!made) {
    showNotice(NOTHING);
    return;
  }
  const scale = Math.min(SCALE, WIDEST / Math.max(made.wide, made.high));
  const canvas = el("canvas", { width: Math.round(made.wide * scale), height: Math.round(made.high * scale) });
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([made.text], { type: "image/svg+xml" }));
  try {
    await image.decode();
  } catch {
    showNotice("This browser cannot make a PNG of it; SVG works.");
    return;
  }
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  canvas.toBlob((blob) => download(`${fileNameNow()}-${shownTab()}.png`, "image/png", blob), "image/png");
}

/** The states and edges of the picture for Graphviz. */
function dot() {
  if (!drawn?.states.length) {
    showNotice(drawn?.svg ? "A railroad diagram is not a graph: save it as SVG or PNG." : NOTHING);
    return;
  }
  download(`${fileNameNow()}-${shownTab()}.dot`, "text/vnd.graphviz", dotText(drawn));
}

// -- the run ----------------------------------------------------------------------------------
const steps = () => state.steps;
const spoken = () => spelledText(steps().map((step) => step.token));

/** All of a run: what it was made with, every token, how it ended. */
const records = () => cards.run?.records?.() ?? [];
const ndjson = () =>
  download(
    `${fileNameNow()}.run.ndjson`,
    "application/x-ndjson",
    records()
      .map((record) => (record.k === "head" ? { ...record, title: titleNow() } : record))
      .map((record) => `${JSON.stringify(record)}\n`)
      .join(""),
  );

const COLUMNS = {
  index: (_step, index) => index,
  token_id: (step) => step.id,
  // as a JSON string: white space is seen, and no table takes it for a formula
  token: (step) => (step.token.end ? "" : JSON.stringify(step.token.text ?? "")),
  bytes: (step) => hexOf(step.token) ?? "",
  end: (step) => Boolean(step.token.end),
  surprisal_bits: (step) => step.s,
  mask_bits: (step) => step.m,
  probability: (step) => step.p,
  probability_after_mask: (step) => step.pm,
  kept: (step) => step.kept,
  rank: (step) => step.rank,
  rank_after_mask: (step) => step.rankm,
  allowed: (step) => step.allowed,
  forced: (step) => step.forced,
  changed_by_mask: (step) => step.cut,
  tokens_left: (step) => step.budget?.left,
  tokens_needed: (step) => step.budget?.needs,
  state: (step) => step.state,
  rules: (step) => (step.rules || []).join(" > "),
  model_ms: (step) => step.ms?.model,
  mask_ms: (step) => step.ms?.mask,
  advance_ms: (step) => step.ms?.advance,
};
function csv() {
  const rows = steps().map((step, index) => Object.values(COLUMNS).map((of) => of(step, index)));
  download(`${fileNameNow()}.run.csv`, "text/csv", csvText([Object.keys(COLUMNS), ...rows]));
}

/** The tokens, each with those the model wanted in vain: a replay says why they were forbidden. */
const taken = () =>
  steps().map((step) => [readOf(step), step.free === undefined ? step.wanted.filter((one) => !one.ok).map(hexOf) : []]);

/** One page that plays the run: the server gives the cards and the pictures, the recording is put in here. Null, with a
    notice, if the server cannot. @param {import("./ask.js").Ask} ask */
async function replayPage(ask, server) {
  const [first, ...rest] = records();
  const { run, prefix, ...about } = /** @type {Head & { prefix: number[], model?: string }} */ (first);
  const head = { ...about, model: named || about.model, title: titleNow() || "A run under a grammar" };
  const { tab } = state;
  const answer = await ask(server.take_replay, {
    ...about,
    ids: steps().map((step) => step.id),
    example: nameNow(),
    width: state.drawn?.width,
    height: state.drawn?.height,
    taken: taken(),
  });
  if (answer.fault) {
    showNotice(answer.fault);
    return null;
  }
  const kept = {
    about: { ...head, version: answer.version, tab },
    steps: rest.filter((each) => each.k === "step"),
    end: rest.find((each) => each.k === "stop") ?? null,
    ...answer.drawn,
  };
  // in a script element only < can end anything, and JSON has another way to write it
  return answer.html.replace(answer.mark, () => JSON.stringify(kept).replaceAll("<", "\\u003c"));
}

async function replay(ask, server) {
  const page = await replayPage(ask, server);
  if (page) download(`${fileNameNow()}.replay.html`, "text/html", page);
}

const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
/** A frame for another page, with what it shows as an attribute. The replay may run its scripts there and no more: it
    sees neither the page around it nor anything stored. */
const frame = (shown) =>
  `<iframe ${shown} title="${quoted(titleNow() || "A run under a grammar")}" sandbox="allow-scripts" loading="lazy" ` +
  'style="width:100%;height:760px;border:1px solid #ccc;border-radius:8px"></iframe>\n';

/** HTML that holds the whole replay: it needs no file and no request. */
async function embed(ask, server, button) {
  const page = await replayPage(ask, server);
  if (page) await copyText(frame(`srcdoc="${quoted(page)}"`), button);
}
/** HTML that shows the replay's file from the same folder. */
const embedFile = (button) => copyText(frame(`src="${quoted(encodeURI(`${fileNameNow()}.replay.html`))}"`), button);
const text = () => download(`${fileNameNow()}.run.txt`, "text/plain", spoken());

export const exportFiles = {
  grammar,
  tests,
  picture,
  stacked,
  svg,
  png,
  dot,
  ndjson,
  csv,
  text,
  replay,
  embed,
  embedFile,
  hasRun: () => steps().length > 0,
};
