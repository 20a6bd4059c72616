/* Why a token is forbidden, as a panel: the token piece by piece up to the byte that fails, what was expected there,
   the open rules, and the pieces of the grammar that could read the next byte. Shows a record of the server's `why`. */

import { createButton, el } from "./dom.js";
import { emit } from "./state.js";

/** @import { Answer, Why } from "./wire" */

/** Places shown at first, and rules of a chain. */
const SOME = 6,
  CHIPS = 8;

const row = (name, ...parts) => el("div.r", el("span.k", name), el("div.v", ...parts));

const SAID = { read: "read", fails: "fails", after: "not read", more: "" };
const SIGNS = { read: "✓", fails: "✗" };

/** The token: each piece in a box with its sign under it, so that no colour is needed to tell. */
function cells(record) {
  const list = el("ol.cells");
  /** @type {{ is: string, texts: HTMLElement } | undefined} */
  let run;
  for (const cell of record.cells) {
    // the part that was read is shown together, with one sign
    if (!run || run.is !== cell.is || cell.is === "fails") {
      run = { is: cell.is, texts: el("span.texts") };
      list.append(
        el(
          "li",
          { class: `cell ${cell.is}` },
          run.texts,
          el("span.sign", { "aria-hidden": "true" }, SIGNS[cell.is] ?? ""),
          SAID[cell.is] ? el("span.sr", ` ${SAID[cell.is]}; `) : "",
        ),
      );
    }
    run.texts.append(el("code", cell.text));
  }
  return list;
}

const arrow = () => el("span.quiet", { "aria-hidden": "true" }, "▸");
const chip = (frame, title, tip) =>
  createButton(frame.rule, { class: `chip${tip ? " tip" : ""}`, title }, () =>
    emit("place", { start: frame.start, end: frame.end }),
  );

/** Rules from the outside in; `after` a chain that others have in common, `leftOut` of its beginning. */
function chain(frames, { after = false, leftOut = 0, tip = true }) {
  const row = el("li.stack");
  const outer = leftOut + Math.max(0, frames.length - CHIPS);
  if (outer)
    row.append(
      el(
        "span.quiet",
        {
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
      i ? el("span.quiet", "or") : arrow(),
      chip(way[0], "Where it was called", true),
    ]);
    rows.push(el("li.stack", ...names));
  } else rows.push(...rest.map(({ way, leftOut }) => chain(way, { after: same > 0, leftOut })));
  return el("ul.stacks", ...rows);
}

function place(span) {
  const link = createButton(
    [
      el("span.pos", `${span.line}:${span.column}`),
      el(
        "code",
        span.before,
        el("mark", span.what.length > 40 ? `${span.what.slice(0, 39)}…` : span.what),
        span.behind,
      ),
    ],
    { class: "link", title: "Go to this place in the grammar" },
    () => emit("place", { start: span.start, end: span.end }),
  );
  return el("li", link, span.rule ? el("span.quiet", "in ", el("span.rulename", span.rule)) : "");
}

function places(record) {
  const list = el("ul.places", ...record.spans.slice(0, SOME).map(place));
  const hidden = record.spans.slice(SOME);
  if (!hidden.length) return list;
  const more = el(
    "li",
    createButton(`${hidden.length} more`, { class: "link" }, () => {
      more.replaceWith(...hidden.map(place));
      list.children[SOME].querySelector("button").focus();
    }),
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
  if (!record.ok) return [record.why || "no reason is known"];
  const [span] = record.failing ? record.spans : [];
  return [
    sentence(record),
    ...(span ? [`, line ${span.line}`, ...(span.rule ? [" in rule ", el("code", span.rule)] : [])] : []),
  ];
}

/** The panel of a `why` record.
    @param {Answer<Why>} record */
export function whyNodes(record) {
  if (!record.ok) return el("p.why.quiet", record.why || "no reason is known");
  const token = el("div.half", el("p.reason", sentence(record)));
  if (record.cells.length) token.append(row(record.so_far ? "token" : "text", cells(record)));
  // where the sentence says it already, it is not said twice
  if (record.reason && !record.reason.endsWith(`expected ${record.expected}`))
    token.append(row("expected", el("span.expected", record.expected)));
  const grammar = el("div.half");
  if (record.stacks.length) grammar.append(row("inside", stacks(record)));
  if (record.spans.length) grammar.append(row("could continue", places(record)));
  if (!record.complete)
    grammar.append(
      el(
        "p.quiet",
        record.spans.length ? "More places exist than are shown." : "Too ambiguous to find the places in time.",
      ),
    );
  return el(
    "div.why",
    { role: "group", "aria-label": "Why it is forbidden" },
    token,
    grammar.children.length ? grammar : "",
  );
}
