/* The stages of sampling: the settings that change which allowed tokens are drawn, and the table of a token's
   probability after every stage. */

import { createTable, el } from "./dom.js";
import { createTickedRow } from "./fields.js";
import { formatPercent, glyphs } from "./tokens.js";

const PENALTY_TITLE =
  "Above 1, tokens of the prompt and of the text so far become less likely: " +
  "their positive logits are divided by this number, their negative ones multiplied";
/** The settings, as requests name them: bounds, title and step of their fields. */
const SETTINGS = {
  repetition_penalty: { name: "repetition penalty", low: 0.1, high: 10, step: 0.05, title: PENALTY_TITLE },
  top_k: {
    name: "top-k",
    low: 1,
    high: 1000000,
    step: 1,
    whole: true,
    title: "Draw from the k likeliest allowed tokens and those as likely as the k-th",
  },
  top_p: {
    name: "top-p",
    low: 0.001,
    high: 1,
    step: 0.05,
    title: "Draw from the fewest allowed tokens that together have this probability",
  },
  min_p: {
    name: "min-p",
    low: 0,
    high: 1,
    step: 0.05,
    title: "Draw from the allowed tokens that have at least this fraction of the likeliest one's probability",
  },
};
export const STAGES = Object.keys(SETTINGS);
/** The fields of the settings: an empty one is no setting. */
export const STAGE_FIELDS = Object.fromEntries(
  STAGES.map((name) => [name, { ...SETTINGS[name], at: `.sampling input.${name}`, usual: null }]),
);

/** Of a request or a record only the settings. */
export const stagesOf = (record) => Object.fromEntries(STAGES.map((name) => [name, record[name]]));

/** The settings of a request in words: “top-k 4, top-p 0.9”; empty without any. */
export const stagesInWords = (request) =>
  STAGES.filter((name) => typeof request[name] === "number")
    .map((name) => `${SETTINGS[name].name} ${request[name]}`)
    .join(", ");

/** Write the fields into the row of the settings; `more` says where their effect is seen. */
export function drawStages(find, more) {
  const inputs = STAGES.map((name) => {
    const { name: label, title, low, high, step } = SETTINGS[name];
    const min = Math.ceil(low / step) * step; // the arrow keys begin there
    const input = el("input", { class: name, type: "number", min, max: high, step, placeholder: "off" });
    return el("label.knob", { title }, el("span", label), input);
  });
  const order = STAGES.map((name) => SETTINGS[name].name);
  order.splice(1, 0, "mask", "temperature");
  const does = `Applied in this order: ${order.join(", ")}. An empty field switches its stage off. ${more}`;
  find(".sampling").replaceChildren(...inputs, el("span.does", does));
}

/** The row of the settings; off until it is ticked, and an empty field changes nothing. */
export function createStages(find, fields) {
  const tick = find("input.samples"),
    box = find(".sampling");
  const show = createTickedRow(tick, box, fields);
  return {
    /** The settings that are given. */
    chosen: () =>
      Object.fromEntries(
        STAGES.map((name) => [name, fields.value(name)]).filter(([, value]) => tick.checked && value !== null),
      ),
    choose(wanted) {
      const held = Object.fromEntries(STAGES.map((name) => [name, wanted[name] ?? null]));
      tick.checked = STAGES.some((name) => held[name] !== null);
      fields.set(held);
      show();
    },
  };
}

/** Tokens of each list in the table. */
const MOST = 6;

/** A token's cells: its probability after each stage, a cross where a stage removed it. */
function cells(shares) {
  return shares.map((share, index) => {
    if (share || !index) return el("td", formatPercent(share));
    return el("td.gone", shares[index - 1] ? "✕" : "", el("span.sr", "removed"));
  });
}

/** The likeliest tokens of a record after every stage of sampling, the likeliest to be
    drawn first, as nodes; null if they are not recorded. */
export function stageTable(record) {
  const { stages, wanted, may } = record;
  if (!stages) return null;
  const own = record.after_stages ? [{ ...record.token, id: record.id, after_stages: record.after_stages }] : [];
  const listed = new Map([...wanted.slice(0, MOST), ...may.slice(0, MOST), ...own].map((each) => [each.id, each]));
  const rank = ({ after_stages: shares }) => [shares[shares.length - 1], ...shares];
  const rows = [...listed.values()].sort((one, other) => {
    const [left, right] = [rank(one), rank(other)];
    const differs = left.findIndex((share, index) => share !== right[index]);
    return differs < 0 ? 0 : right[differs] - left[differs];
  });
  return [
    el("h2", "After each stage of sampling"),
    el(
      "div.scroller",
      { tabindex: "0", role: "group", "aria-label": "Probabilities after every stage" },
      createTable(
        [el("th", { scope: "col" }, el("span.sr", "token")), ...stages],
        rows.map((each) =>
          el(
            "tr",
            { class: each.id === record.id ? "taken" : "" },
            el("th", { scope: "row" }, el("code", glyphs(each))),
            ...cells(each.after_stages),
          ),
        ),
      ),
    ),
    el(
      "p.quiet",
      "✕: removed by this stage. The mask comes before the stages that remove unlikely tokens, " +
        "so these keep at least the likeliest allowed token.",
    ),
  ];
}
