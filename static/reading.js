/* A given text, read by the model under the mask: the row in which it is pasted. Its tokens are shown as those of a
   run. */

import { useUp } from "./dom.js";

/** @param {(selector: string) => HTMLElement} find @param {(text: string) => void} read gets the text to read */
export function createReading(find, read) {
  const box = find(".reading"),
    field = box.querySelector("textarea"),
    [go, close] = box.querySelectorAll("button");
  const ask = () => {
    if (!go.disabled) read(field.value);
  };
  go.addEventListener("click", ask);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      useUp(event);
      ask();
    }
    if (event.key === "Escape") box.hidden = true;
  });
  close.addEventListener("click", () => {
    box.hidden = true;
  });
  return {
    /** Open the row, with a text if there is one. @param {string | null} text */
    open(text = null) {
      if (text !== null) field.value = text;
      box.hidden = false;
      if (text === null) field.focus();
    },
    /** @param {boolean} locked */
    lock(locked) {
      go.disabled = locked;
    },
  };
}
