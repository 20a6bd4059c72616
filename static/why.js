/* Why a token is forbidden, as a panel: the token piece by piece up to the byte that fails, what was expected there,
   the open rules, and the pieces of the grammar that could read the next byte. Shows a record of the server's `why`. */

import { el } from "./dom.js";
import { emit } from "./state.js";

/** @import { Answer, Why } from "./wire" */

/** Places shown at first, and rules of a chain. */
const SOME = 6,
  CHIPS = 8;

const row = (name, ...parts) =>
  el("div", { class: "r" }, el("span", { class: "k" }, name), el("div", { class: "v" }, ...parts));

const SAID = { read: "read", fails: "fails", after: "not read", more: "" };
const SIGNS = { read: "✓", fails: "✗" };

/** The token: each piece in a box with its sign under it, so that no colour is needed to tell. */
function cells(record) {
  const list = el("ol", { class: "cells" });
  /** @type {{ is: string, texts: HTMLElement } | undefined} */
  let run;
  for (const cell of record.cells) {
    // the part that was read is shown together, with one sign
    if (!run || run.is !== cell.is || cell.is === "fails") {
      run = { is: cell.is, texts: el("span", { class: "texts" }) };
      list.append(
        el(
          "li",
          { class: `cell ${cell.is}` },
          run.texts,
          el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[cell.is] ?? ""),
          SAID[cell.is] ? el("span", { class: "sr" }, ` ${SAID[cell.is]}; `) : "",
        ),
      );
    }
    run.texts.append(el("code", {}, cell.text));
  }
  return list;
}

const arrow = () => el("span", { class: "quiet", "aria-hidden": "true" }, "▸");
const chip = (frame, title, tip) =>
  el(
    "button",
    {
      type: "button",
      class: `chip${tip ? " tip" : ""}`,
      title,
      onclick: () => emit("place", { start: frame.start, end: frame.end }),
    },
    frame.rule,
  );

/** Rules from the outside in; `after` a chain that others have in common, `leftOut` of its beginning. */
function chain(frames, { after = false, leftOut = 0, tip = true }) {
  const row = el("li", { class: "stack" });
  const outer = leftOut + Math.max(0, frames.length - CHIPS);
  if (outer)
    row.append(
      el(
        "span",
        {
          class: "quiet",
          title: frames
            .slice(0, -CHIPS)
            .map((frame) => frame.rule)
            .join(" ▸ "),
        },
        `${outer} more`,
      ),
    );
  frames.slice(-CHIPS).forEach((frame, index, shown) => {
    const first = !index && !after && !outer;
    row.append(
      first ? "" : arrow(),
      chip(frame, first ? "Where it stands" : "Where it was called", tip && index === shown.length - 1),
    );
  });
  return row;
}

/** What all ways to come here have in common stands once, and what follows it beneath. */
function stacks(record) {
  const ways = record.stacks,
    first = ways[0];
  const key = (frame) => `${frame.rule} ${frame.start}`;
  let same = 0;
  while (ways.every((way) => same < way.length && key(way[same]) === key(first[same]))) same++;
  const rows = same
    ? [chain(first.slice(0, same), { leftOut: record.left_out[0], tip: ways.some((way) => way.length === same) })]
    : [];
  const rest = ways
    .map((way, i) => ({ way: way.slice(same), leftOut: same ? 0 : record.left_out[i] }))
    .filter(({ way }) => way.length);
  if (same && rest.length > 1 && rest.every(({ way }) => way.length === 1)) {
    const names = rest.flatMap(({ way }, i) => [
      i ? el("span", { class: "quiet" }, "or") : arrow(),
      chip(way[0], "Where it was called", true),
    ]);
    rows.push(el("li", { class: "stack" }, ...names));
  } else rows.push(...rest.map(({ way, leftOut }) => chain(way, { after: same > 0, leftOut })));
  return el("ul", { class: "stacks" }, ...rows);
}

function place(span) {
  const link = el(
    "button",
    {
      type: "button",
      class: "link",
      title: "Go to this place in the grammar",
      onclick: () => emit("place", { start: span.start, end: span.end }),
    },
    el("span", { class: "pos" }, `${span.line}:${span.column}`),
    el(
      "code",
      {},
      span.before,
      el("mark", {}, span.what.length > 40 ? `${span.what.slice(0, 39)}…` : span.what),
      span.behind,
    ),
  );
  return el(
    "li",
    {},
    link,
    span.rule ? el("span", { class: "quiet" }, "in ", el("span", { class: "rulename" }, span.rule)) : "",
  );
}

function places(record) {
  const list = el("ul", { class: "places" }, ...record.spans.slice(0, SOME).map(place));
  const hidden = record.spans.slice(SOME);
  if (!hidden.length) return list;
  const more = el(
    "li",
    {},
    el(
      "button",
      {
        type: "button",
        class: "link",
        onclick: () => {
          more.replaceWith(...hidden.map(place));
          list.children[SOME].querySelector("button").focus();
        },
      },
      `${hidden.length} more`,
    ),
  );
  list.append(more);
  return list;
}

function sentence(record) {
  if (record.allowed) return "The grammar allows it, but the vocabulary has no tokens that could complete such a text.";
  return record.reason[0].toUpperCase() + record.reason.slice(1);
}

/** The reason in one line: what the grammar expects, and the first place where that is written.
    @param {Answer<Why>} record */
export function reasonLine(record) {
  if (!record.ok) return [record.why || record.fault || "no reason is known"];
  const [span] = record.failing ? record.spans : [];
  return [
    sentence(record),
    ...(span ? [`, line ${span.line}`, ...(span.rule ? [" in rule ", el("code", {}, span.rule)] : [])] : []),
  ];
}

/** The panel of a `why` record.
    @param {Answer<Why>} record */
export function whyNodes(record) {
  if (!record.ok) return el("p", { class: "why quiet" }, record.why || record.fault || "no reason is known");
  const token = el("div", { class: "half" }, el("p", { class: "reason" }, sentence(record)));
  if (record.cells.length) token.append(row(record.so_far ? "token" : "text", cells(record)));
  // where the sentence says it already, it is not said twice
  if (record.reason && !record.reason.endsWith(`expected ${record.expected}`))
    token.append(row("expected", el("span", { class: "expected" }, record.expected)));
  const grammar = el("div", { class: "half" });
  if (record.stacks.length) grammar.append(row("inside", stacks(record)));
  if (record.spans.length) grammar.append(row("could continue", places(record)));
  if (!record.complete)
    grammar.append(
      el(
        "p",
        { class: "quiet" },
        record.spans.length ? "More places exist than are shown." : "Too ambiguous to find the places in time.",
      ),
    );
  return el(
    "div",
    { class: "why", role: "group", "aria-label": "Why it is forbidden" },
    token,
    grammar.children.length ? grammar : "",
  );
}
