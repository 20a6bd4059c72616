/* Exports of a picture as TikZ, which the server writes. */

import { copyText, download, showNotice } from "./dom.js";
import { exportEntries } from "./export-menu.js";
import { FINDABLE, NEVER_FOLLOWED } from "./picture-state.js";
import { state } from "./state.js";

/** @import { PictureCard } from "./picture-state" */

/** @param {PictureCard} card */
const hasTikz = (card) => [...FINDABLE, ...NEVER_FOLLOWED].includes(state.tab) && Boolean(card.server.draw_tikz);

/** @param {PictureCard} card @param {(tikz: string) => void} act */
const withTikz = (card, act) =>
  card.files.run(async (ask) => {
    const answer = await ask(card.server.draw_tikz, card.main.sent ?? {});
    if (answer.ok) act(answer.tikz);
    else showNotice(answer.why);
  });

/** @param {PictureCard} card */
export function addTikz(card) {
  exportEntries.add(
    "Copy TikZ",
    (_record, _name, button) => withTikz(card, (text) => copyText(text, button)),
    () => hasTikz(card),
  );
  const save = (_record, name) => withTikz(card, (text) => download(`${name}.tex`, "application/x-tex", text));
  exportEntries.add("Download TikZ", save, () => hasTikz(card));
}
