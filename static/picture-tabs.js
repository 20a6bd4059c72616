/* Opens a machine in the picture card, draws it, and follows the run in it. */

import { markChosen } from "./dom.js";
import { pictureLooks } from "./machine.js";
import { describe } from "./picture-foot.js";
import { currentStep, dim, FINDABLE, NEVER_FOLLOWED, requestOf, showCount } from "./picture-state.js";
import { emit, state } from "./state.js";
import { saved } from "./storage.js";

/** @import { PictureCard } from "./picture-state" */

const SIZED = ["characters"];

/** @param {PictureCard} card */
const buttons = (card) => [...card.element.querySelectorAll("button")].filter(({ dataset }) => dataset.tab);

/** @param {HTMLElement} button */
const tabOf = ({ dataset }) => dataset.tab ?? "";

/** The node of a tree that is selected is so no longer. @param {PictureCard} card */
function unmark({ picked, tree }) {
  if (picked?.record?.tree) tree.mark(picked.record, null);
}

/** @param {PictureCard} card */
export function open(card, tab, at = "") {
  const usable = (name) => buttons(card).find((each) => each.dataset.tab === name && !each.disabled);
  const button = usable(tab) || usable("together") || usable("table");
  if (!button) return;
  markChosen(card.tabs, "aria-selected", button);
  if (!card.tabs.contains(button)) card.tabs.querySelector("button:not(:disabled)").tabIndex = 0;
  const inMore = card.more.contains(button);
  card.more.classList.toggle("chosen", inMore);
  card.more.querySelector(".name").textContent = inMore ? button.textContent : "More";
  state.tab = tabOf(button);
  card.edges.close();
  layout(card);
  draw(card, at);
}

/** @param {PictureCard} card */
export function want(card, tab, at = "") {
  card.wanted = tab;
  saved.set("tab", tab);
  open(card, tab, at);
}

/** What the tab has next to its picture: the stack where the grammar needs one, and the switches that apply.
    @param {PictureCard} card */
export function layout(card) {
  const tab = state.tab,
    nests = Boolean(state.compiled?.tabs?.characters),
    rules = tab === "stack" || tab === "rules";
  card.pic.hidden = tab === "table";
  card.table.hidden = tab !== "table";
  const [step, atEnd] = currentStep(card);
  const stacked = nests && ["together", "tokens", "stack"].includes(tab) && card.stack.show(step, atEnd);
  card.stackbox.hidden = !(stacked && pictureLooks.get().stack);
  card.find("[data-look=stack]").hidden = !(stacked && tab === "together");
  card.find(".findbox").hidden = !FINDABLE.includes(tab);
  card.tools.hidden = tab === "table" || tab === "railroad";
  card.find(".size").hidden = !SIZED.includes(tab);
  card.find("[data-look=chains]").hidden = !(SIZED.includes(tab) || rules);
  card.find("[data-look=tokens]").hidden = tab !== "together";
  card.find(".levels").hidden = !rules;
  card.find(".treetools").hidden = tab !== "tree";
  card.find(".follow").hidden = NEVER_FOLLOWED.includes(tab);
}

/** @param {PictureCard} card */
export async function draw(card, at = "") {
  if (!state.compiled?.ok) return;
  unmark(card);
  card.picked = null;
  card.lost = "";
  card.search.clear();
  if (state.tab === "table") {
    card.main.drop();
    showCount(card, "");
    await list(card);
    return;
  }
  card.listing.drop();
  await card.main.open(state.tab, at);
  if (at) card.main.graph.pick(at);
}

/** @param {PictureCard} card */
export function showAnswer(card, answer, sent) {
  // another part of the same picture, loaded to follow the run, keeps the selected state
  const { picked } = card,
    kept = picked?.tab === sent.tab && !picked?.record.tree ? (picked?.id ?? "") : "";
  unmark(card); // a node of a tree has another number in the next
  card.shown = answer.ok ? answer : null;
  card.picked = null;
  card.lost = "";
  const counts = answer.ok && !(sent.tab === "together" && pictureLooks.get().tokens);
  showCount(card, counts ? answer.count : "");
  card.tree.show(answer.ok ? answer : null, Boolean(currentStep(card)[0]));
  if (sent.tab === "railroad") card.main.graph.rules((state.compiled?.ok && state.steps[state.selected]?.rules) || []);
  card.exportsOf(card.shown);
  describe(card);
  follow(card);
  state.drawn = sent;
  emit("drawn", answer);
  if (kept && card.main.graph.has(kept)) card.main.graph.pick(kept);
}

/** @param {PictureCard} card */
export function list(card) {
  const missing = state.compiled.tabs || {};
  if (!card.listed || missing[card.listed]) card.listed = missing.characters ? "rules" : "characters";
  const [step, atEnd] = currentStep(card);
  const path = step?.path || {},
    moments = path[{ characters: "characters", rules: "rules", stack: "rules" }[card.listed]] || [];
  const sent = requestOf({ of: card.listed, centre: (atEnd ? moments[moments.length - 1] : moments[0])?.[0] || "" });
  return card.listing.run(async (ask) => showRows(card, await ask(card.server.draw_machine, sent), sent));
}

/** @param {PictureCard} card */
function showRows(card, answer, sent) {
  card.shown = answer.ok ? answer : null;
  card.rows.show(answer, card.listed);
  card.exportsOf(null);
  describe(card);
  follow(card);
  state.drawn = sent;
  emit("drawn", answer);
}

/** @param {PictureCard} card */
export function follow(card) {
  if (!state.compiled?.ok) return;
  const [step, atEnd] = currentStep(card);
  card.find(".picturecard").classList.toggle("failing", Boolean(card.why));
  layout(card);
  if (state.tab === "table") card.rows.go(step, atEnd);
  else {
    card.lost = "";
    card.main.go(step, atEnd);
  }
}

/** A state was selected in the picture. @param {PictureCard} card */
export const pickState = (card, id) => {
  card.picked = id === null || !card.shown ? null : { id, record: card.shown, tab: state.tab };
  if (card.picked) card.edges.close();
  if (card.shown?.tree) {
    card.tree.mark(card.shown, id);
    card.main.graph.path(id === null ? [] : card.tree.path(card.shown, id));
  }
  describe(card);
};

/** Show a sentence in the place of the picture, and nothing that belongs to a picture. @param {PictureCard} card */
function blank(card, sentence) {
  unmark(card);
  card.shown = card.picked = null;
  card.edges.close();
  card.tree.show(null, false);
  card.stack.show(null);
  card.exportsOf(null);
  card.pic.hidden = false;
  card.table.hidden = card.stackbox.hidden = true;
  card.main.say(sentence);
}

/** Why there is no picture. */
const missingPicture = ({ empty, unfilled }) =>
  empty
    ? state.example?.exercise
      ? "Write your answer on the left: its picture appears here."
      : "Write a grammar on the left, or choose an example above."
    : unfilled
      ? "No picture: the grammar can be read, but its hole cannot be filled. The problem under the grammar says why."
      : "No picture yet: the grammar cannot be read. The problems are listed under it.";

/** @param {PictureCard} card */
export function showCompiled(card, compiled) {
  card.main.stale(false);
  card.table.classList.remove("stale");
  card.why = null;
  for (const button of card.built) button.hidden = !compiled.ok || !card.isLive;
  if (!compiled.ok) {
    showCount(card, "");
    // the last picture of this grammar stays; without one, and in Railroad, the rules that can be read are drawn
    card.draft = Boolean(
      compiled.drawable && (!card.shown || compiled.unread || card.draft || state.tab === "railroad"),
    );
    if (card.draft) {
      card.pic.hidden = false;
      card.table.hidden = card.stackbox.hidden = true;
      card.main.open("railroad");
    } else if (!card.shown || compiled.unread || compiled.empty || compiled.unfilled)
      blank(card, missingPicture(compiled));
    else dim(card, false);
    describe(card);
    return;
  }
  for (const button of buttons(card)) {
    const missing = compiled.tabs[tabOf(button)];
    button.disabled = Boolean(missing);
    card.titles[tabOf(button)] ??= button.title;
    button.title = missing || card.titles[tabOf(button)];
  }
  card.draft = false;
  card.main.expect(...currentStep(card));
  open(card, card.wanted || state.tab);
}

/** @param {PictureCard} card */
export function showStep(card) {
  card.why = null;
  card.lost = "";
  if (!card.picked) describe(card);
  follow(card);
}

/** @param {PictureCard} card */
export function showWhy(card, record) {
  card.why = record?.path ? record : null;
  if (card.why) card.picked = null;
  describe(card);
  follow(card);
}

/** @param {PictureCard} card */
export function showModel(card) {
  if (state.model === card.model) return;
  card.model = state.model;
  if (!state.compiled?.ok || !state.drawn) return;
  if (state.tab === "together") card.main.flags(true);
  else if (["tokens", "proper", "detokenizer"].includes(state.tab)) draw(card);
}
