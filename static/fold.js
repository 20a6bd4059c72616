/* Parts of the page that are folded until a reader asks for them. The choice is stored in the browser; a replay, which
   stores nothing, shows all. */

import { saved } from "./storage.js";

/** Show and hide a part with a button. The button's title says what a press does.
    @param {HTMLElement} button @param {HTMLElement} part @param {string} name */
export function createFold(button, part, name) {
  const show = (/** @type {boolean} */ open) => {
    part.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => {
    show(Boolean(part.hidden));
    saved.set(`open ${name}`, !part.hidden);
  });
  show(Boolean(saved.get(`open ${name}`, Boolean(document.getElementById("recording")))));
}
