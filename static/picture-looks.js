/* How the picture is looked at: its switches, its size and its level. */

import { radios } from "./dom.js";
import { pictureLooks } from "./machine.js";
import { describe } from "./picture-foot.js";
import { showCount } from "./picture-state.js";
import { draw, follow, layout } from "./picture-tabs.js";

/** @import { PictureCard } from "./picture-state" */

const USUAL = 60;
const SIZES = [5, 8, 12, 18, 26, 40, 60, 90];
const LEVELS = [
  ["calls", "Calls"],
  ["states", "States"],
  ["around", "Around"],
];

/** The row of levels; returns what shows one as chosen. @param {HTMLElement} box @param {() => void} draw */
export const createLevels = (box, draw) =>
  radios(box, "data-level", LEVELS, (level) => {
    pictureLooks.set({ level });
    draw();
  });

/** @param {PictureCard} card */
export function showLooks(card) {
  const now = pictureLooks.get();
  const press = (selector, pressed) => card.find(selector).setAttribute("aria-pressed", String(pressed));
  press(".follow", now.follow);
  press("[data-look=chains]", card.main.unfolded ? "mixed" : now.chains !== false);
  press("[data-look=tokens]", now.tokens);
  press("[data-look=stack]", now.stack);
  card.showLevel(now.level);
}

/** A switch over the picture was pressed. @param {PictureCard} card */
export function changeLook(card, button) {
  const now = pictureLooks.get();
  const pressed = button.getAttribute("aria-pressed") === "true";
  if (button.matches(".follow")) {
    pictureLooks.set({ follow: !pressed });
    follow(card);
    describe(card);
  }
  if (button.dataset.look === "chains" && card.main.unfolded) {
    unfold(card, []);
    return;
  }
  if (button.dataset.look === "chains") pictureLooks.set({ chains: pressed ? false : null });
  if (button.dataset.look === "tokens") {
    pictureLooks.set({ tokens: !pressed });
    showCount(card, card.shown?.count ?? "");
    card.main.flags();
    return;
  }
  if (button.dataset.look === "stack") {
    pictureLooks.set({ stack: !pressed });
    layout(card);
    return;
  }
  if (button.dataset.size) {
    const size = now.size || Math.min(card.shown?.states.length || USUAL, USUAL);
    const next = (button.dataset.size === "1" ? SIZES.find((s) => s > size) : SIZES.findLast((s) => s < size)) ?? size;
    pictureLooks.set({ size: next === USUAL ? 0 : next });
  }
  if (button.dataset.look || button.dataset.size) draw(card, card.picked?.id || "");
}

/** A zoom beyond a picture's useful scales goes to the next level, around what lies under the pointer.
    @param {PictureCard} card */
export function beyond(card, by, under) {
  const { level } = pictureLooks.get(),
    next = LEVELS[LEVELS.findIndex(([name]) => name === level) + by]?.[0];
  if (card.find(".levels").hidden || !next) return false;
  const node = under?.closest?.(".node"),
    rule = node?.matches(".calls")
      ? node.querySelector("text").textContent
      : under?.closest?.(".cluster")?.dataset.rule;
  pictureLooks.set({ level: next });
  draw(card, by < 0 ? "" : (card.shown?.rules?.[rule] ?? node?.dataset.id?.replace(/^state-/, "") ?? ""));
  return true;
}

/** A rule of the call picture opens among the states. @param {PictureCard} card */
export function openRule(card, name) {
  const first = card.shown?.rules?.[name] ?? "";
  pictureLooks.set({ level: "states" });
  draw(card, first);
}

/** @param {PictureCard} card */
export function unfold(card, states) {
  card.edges.close();
  card.main.unfold(states);
  showLooks(card);
}

/** @param {PictureCard} card */
export function unfoldAt(card, event) {
  const inside = card.shown?.edges?.[card.main.graph.edgeAt(event.target)]?.inside ?? [];
  if (inside.length && card.isLive) unfold(card, inside);
  const id = event.target.closest(".node.folded")?.dataset.id?.replace(/^state-/, "");
  if (id && card.shown?.tree) card.tree.unfold(card.shown.tree.nodes[Number(id)].path);
}
