/* Above the text of a recorded run: what the model writes after the same prompt with the same settings, but without a
   mask. Tokens that both texts begin with stand under each other. */

import { el } from "./dom.js";
import { hexOf, spelledText, tokenNodes } from "./tokens.js";

/** @import { Branch } from "./branches.js" */

/** @param {Element} box @param {boolean} good @param {string} words */
const sign = (box, good, words) =>
  box.replaceChildren(
    el("span", { class: good ? "good" : "no", title: words, "aria-hidden": "true" }, good ? "✓" : "✗"),
    el("span.sr", words),
  );

/** A function that shows the two texts of a branch, or the text of the run alone where no other is recorded.
    @param {(selector: string) => HTMLElement} find @returns {(branch: Branch) => void} */
export function createAlone(find) {
  const box = find(".alone"),
    text = box.querySelector(".text"),
    name = find(".under .name"),
    signed = find(".under .sign");
  return ({ alone, steps, outcome }) => {
    box.hidden = name.hidden = signed.hidden = !alone;
    if (!alone) return;
    const differs = alone.tokens.findIndex((token, index) => hexOf(token) !== hexOf(steps[index]?.token ?? {}));
    text.title = spelledText(alone.tokens);
    text.replaceChildren(
      ...alone.tokens.map((token, index) =>
        el("span", { class: `tok${index === differs ? " other" : ""}` }, tokenNodes(token)),
      ),
    );
    sign(box.querySelector(".sign"), alone.accepted, `the grammar ${alone.accepted ? "accepts" : "rejects"} this text`);
    sign(signed, Boolean(outcome?.good), `the grammar ${outcome?.good ? "accepts" : "rejects"} this text`);
  };
}
