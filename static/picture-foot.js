/* The line under the picture: what a selected state expects, or how the picture is read. */

import { createButton, el } from "./dom.js";
import { pictureLooks } from "./machine.js";
import { centre, currentStep, FINDABLE, requestOf } from "./picture-state.js";
import { cards, emit, state } from "./state.js";
import { formatNumber, glyphs } from "./tokens.js";

/** @import { PictureCard } from "./picture-state" */

/** @param {PictureCard} card */
export function describe(card) {
  card.details.drop();
  if (!state.compiled?.ok) {
    const what = card.draft
      ? "The rules that can be read; a dashed box is a missing rule."
      : "The picture shows the last version of the grammar that could be read.";
    card.foot.replaceChildren(card.shown ? what : "");
    return;
  }
  if (state.tab === "tree") {
    card.foot.replaceChildren(...(card.shown?.tree ? card.tree.describe(card.shown, card.picked) : []));
    return;
  }
  if (card.picked?.record) {
    aboutState(card, card.picked);
    return;
  }
  if (card.why) {
    card.foot.replaceChildren(
      el("span", card.why.read ? "read " : "no character of it fits"),
      ...(card.why.read ? [el("code", glyphs({ text: card.why.read })), el("span.good", "✓")] : []),
      el("span.no", "✗ ", el("code", card.why.failing ? glyphs({ text: card.why.failing }) : "the end")),
      el("span", "expected "),
      el("code", card.why.expected || "nothing"),
    );
    return;
  }
  const [step] = currentStep(card);
  card.foot.replaceChildren();
  if (card.lost) {
    card.foot.append(
      "The run is in a state that is not in this part. ",
      createButton("Show it", { class: "link" }, () => card.main.load(card.lost)),
    );
    return;
  }
  if (step && "stack" in step && step.stack.length && ["railroad", "table"].includes(state.tab)) {
    card.foot.append("rules");
    for (const [index, name] of step.stack.entries())
      card.foot.append(
        index ? "▸" : "",
        el("span", { class: index === step.stack.length - 1 ? "chip now" : "chip" }, name),
      );
    return;
  }
  card.foot.append(
    ...(card.shown?.note ? [el("span.drawn", { title: card.shown.note }, card.shown.note)] : []),
    el("span.legend", ...(legends()[state.tab]?.() ?? [])),
  );
  const legend = card.foot.querySelector(".legend");
  legend.title = legend.textContent ?? "";
}

/** What may follow in a state, how a text comes there, and where that is written. @param {PictureCard} card */
function aboutState(card, { id, record, tab }) {
  const one = record.states.find((each) => each.id === id);
  const ways = record.edges.filter((edge) => edge.source === id),
    nameOf = (other) => record.states.find((each) => each.id === other)?.label || other;
  const call = id.startsWith("call-");
  const rule = one?.rule || one?.title.match(/^state \S+(?: · (?:initial|final))* · (.+?) · \d+(?: · |$)/)?.[1];
  const head = [
    el("span", call ? "call of" : "state"),
    el("span.chip.now", call ? one.label.replace(/^→ /, "") : one?.label || id),
  ];
  if (rule && !call) head.push(el("span", "of rule ", el("b", rule)));
  if (one?.kinds.includes("final"))
    head.push(el("span.chip", rule ? "the rule may end here" : "the text may end here"));
  const goes = ways
    .slice(0, 6)
    .flatMap((way, index) => [
      index ? ", " : "",
      el(
        "code",
        { title: way.title },
        ((way.labels.join("  ").split("\n")[0] || (call ? "back" : "ε")) + (way.mark ? ` ${way.mark}` : "")).slice(
          0,
          40,
        ) +
          " → " +
          nameOf(way.target).replace(/^→ /, ""),
      ),
    ]);
  if (ways.length > 6) goes.push(` and ${ways.length - 6} more`);
  const leads = ways.length
    ? [partOf(call ? "leads to" : "reads", ...goes)]
    : call
      ? []
      : [el("span", one?.kinds.includes("more") ? "its edges are not in this part" : "nothing may follow")];
  const button =
    record.partial && FINDABLE.includes(state.tab)
      ? [createButton("Centre here", { class: "link" }, () => centre(card, id))]
      : [];
  card.foot.replaceChildren(...head, ...leads, ...button);
  if (!FINDABLE.includes(tab) || call) return;
  const machine = tab === "together" ? (state.compiled.tabs.characters ? "stack" : "characters") : tab;
  card.details.run(async (ask) => {
    const answer = await ask(card.server.about_state, requestOf({ tab: machine, state: id }));
    if (answer.ok)
      card.foot.replaceChildren(...head, ...leadsOf(answer, ways.length ? leads : []), ...factsOf(answer), ...button);
  });
}

const partOf = (name, ...content) => el("span.part", el("span.quiet", `${name} `), ...content);

/** What may follow in a state: what its edges read, and what is read after its rule has ended. */
function leadsOf({ reads, returns }, drawn) {
  const read = drawn.length || !reads ? drawn : [partOf("reads", el("code", reads))];
  const after = returns ? [partOf("after returning:", el("code", returns.replaceAll("`", "")))] : [];
  return read.length || after.length ? [...read, ...after] : [el("span", "nothing may follow")];
}

/** What else the server knows of a state. */
function factsOf(answer) {
  const said = [];
  if (answer.tokens) said.push(el("span", `${formatNumber(answer.tokens)} tokens`));
  if (answer.places.length)
    said.push(
      partOf(
        "written as",
        ...answer.places.flatMap((place, index) => [
          index ? ", " : "",
          createButton(
            el("code", glyphs({ text: place.what })),
            { class: "link", title: "Go to this place in the grammar" },
            () => emit("place", place),
          ),
        ]),
      ),
    );
  if (answer.reached) said.push(partOf("for example after", el("code", answer.reached)));
  return said;
}

const legends = () => ({
  together: () =>
    state.compiled.tabs.characters
      ? [
          "blue: the tokens that may follow, at the states they lead to; dashed: read after returning from a rule · ",
          ...stackLegend(),
        ]
      : ["blue: the tokens that may follow, where they lead"],
  characters: () => ["double ring: the text may end here · click a state to see what may follow"],
  tokens: () => [
    ...(cards.run?.masked(0).masked ? ["all tokens of the grammar, of which this run allows some · "] : []),
    "dashed: tokens that pass over states · click an edge for all its tokens ",
    ...(state.compiled.tabs.characters ? stackLegend() : []),
  ],
  proper: () => ["the spellings the tokenizer itself writes · click an edge for all its tokens"],
  stack: () =>
    pictureLooks.get().level === "calls"
      ? ["an arrow: one rule calls another · click a rule to see its states"]
      : [
          el("b.push", "▲9"),
          " calls the rule and pushes state 9, in which it continues · double ring: the rule may end here",
        ],
  rules: () =>
    pictureLooks.get().level === "calls"
      ? legends().stack()
      : ["a box calls another rule · click a state to see what may follow"],
  railroad: () => [
    "follow the track from left to right to write an accepted text · click a rule to go to its definition",
  ],
  detokenizer: () => ["reads tokens, writes characters"],
  table: () => ["→ initial state · ◎ the text may end here · click a row to see it drawn"],
});

const stackLegend = () => [el("b.push", "▲n"), " n symbols pushed ", el("b.pop", "▼n"), " n popped"];
