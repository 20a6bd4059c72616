/* The Export menu: the formats of a picture. Other parts add entries. */

import { copyText, createMenu, download, el } from "./dom.js";
import { dotText } from "./dot-text.js";

/** @import { Picture } from "./wire" */

const entries = [];

let redraw = () => {};

/** @typedef {(record: Picture & { svg: string }, name: string, button: HTMLElement) => unknown} ExportAct */

export const exportEntries = {
  /** An entry: ``act(record, name, button)`` gets the picture that is shown and a name for its file; ``when(record)``
      says whether it can be used.
      @param {string} label @param {ExportAct} act @param {(record: Picture) => boolean} [when] */
  add(label, act, when = () => true) {
    entries.push({ label, act, when });
    redraw();
  },
};

const isGraph = (record) => record.states?.length > 0 && !record.tree;

exportEntries.add("Copy DOT", (record, _name, button) => copyText(dotText(record), button), isGraph);

exportEntries.add(
  "Download DOT",
  (record, name) => download(`${name}.dot`, "text/vnd.graphviz", dotText(record)),
  isGraph,
);

exportEntries.add("Copy SVG", (record, _name, button) => copyText(record.svg, button));

exportEntries.add("Download SVG", (record, name) => download(`${name}.svg`, "image/svg+xml", record.svg));

/** Fill the menu. Returns a function to call with the picture that is shown. */
export function createExportMenu(menu, named) {
  const list = menu.querySelector("ul"),
    { close } = createMenu(menu);
  let shown = null;
  redraw = () =>
    list.replaceChildren(
      ...entries
        .filter(({ when }) => shown && when(shown))
        .map(({ label, act }) => {
          const entry = el("button", label);
          entry.addEventListener("click", () => {
            act(shown, named(), entry);
            if (!label.startsWith("Copy")) close();
          });
          return el("li", entry);
        }),
    );
  menu.style.visibility = "hidden"; // it keeps its room, so the tabs next to it never move
  return (record) => {
    shown = record?.svg ? record : null;
    menu.style.visibility = shown ? "" : "hidden";
    redraw();
  };
}
