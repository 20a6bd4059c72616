/* The stages of sampling: the settings that change which allowed tokens are drawn, and the table of a token's
   probability after every stage. */

import { el } from "./dom.js";
import { createTickedRow } from "./fields.js";
import { formatPercent, glyphs } from "./tokens.js";

/** The settings, as requests name them. */
export const STAGES = ["repetition_penalty", "top_k", "top_p", "min_p"];

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
    if (share || !index) return el("td", {}, formatPercent(share));
    return el("td", { class: "gone" }, shares[index - 1] ? "✕" : "", el("span", { class: "sr" }, "removed"));
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
    el("h2", {}, "After each stage of sampling"),
    el(
      "div",
      { class: "scroller", tabindex: "0", role: "group", "aria-label": "Probabilities after every stage" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, el("span", { class: "sr" }, "token")),
            ...stages.map((name) => el("th", { scope: "col" }, name)),
          ),
        ),
        el(
          "tbody",
          {},
          ...rows.map((each) =>
            el(
              "tr",
              { class: each.id === record.id ? "taken" : "" },
              el("th", { scope: "row" }, el("code", {}, glyphs(each))),
              ...cells(each.after_stages),
            ),
          ),
        ),
      ),
    ),
    el(
      "p",
      { class: "quiet" },
      "✕: removed by this stage. The mask comes before the stages that remove unlikely tokens, " +
        "so these keep at least the likeliest allowed token.",
    ),
  ];
}
