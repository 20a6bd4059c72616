/* Text with `code` and *terms*, as elements. */

import { el } from "./dom.js";

/** Everything enters the page as text. @param {string} text */
export function inlineMarkup(text) {
  return text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map((piece) => {
    // a space at the edge of a token would vanish
    if (/^`.+`$/.test(piece))
      return el("code", { class: piece.length < 30 ? "whole" : null }, piece.slice(1, -1).replace(/^ | $/g, "·"));
    if (/^\*.+\*$/.test(piece)) return el("em", piece.slice(1, -1));
    return piece;
  });
}
