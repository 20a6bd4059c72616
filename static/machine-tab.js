/* The tab of drawn machines: above the editor of its text the drawing, whose script is loaded when the tab is first
   opened. */

import { createLatest } from "./ask.js";
import { debounce, el, showNotice } from "./dom.js";
import { late } from "./late.js";
import { unitsIn } from "./paint.js";
import { grammarKey, on, state } from "./state.js";
import { saved } from "./storage.js";

/** @typedef {{
      box: HTMLElement, sheet: HTMLElement, drawing: ReturnType<typeof createDrawing> | null,
      isOpen: boolean, problems: Problem[],
      fold: HTMLElementTagNameMap["button"], latest: ReturnType<typeof createLatest>,
      editor: { area: HTMLTextAreaElement, write: (text: string) => void }, server: Server,
    }} MachineTab */

/** @param {MachineTab} page */
function foldText(page, hidden) {
  page.sheet.classList.toggle("folded", page.isOpen && hidden);
  page.fold.setAttribute("aria-expanded", String(!hidden));
  page.fold.setAttribute("aria-pressed", String(!hidden));
  saved.set("machine text", !hidden);
}

/** @param {MachineTab} page */
async function load(page) {
  try {
    const { createDrawing } = await late("drawing.js");
    page.drawing ??= createDrawing(page.box, { server: page.server, write: page.editor.write, more: [page.fold] });
    show(page, page.editor.area.value);
    mark(page);
  } catch {
    showNotice("The drawing could not be loaded: its text can be edited.");
    foldText(page, false);
  }
}

/** A file of JFLAP is put into the editor as text. @param {MachineTab} page */
const convert = (page, text) =>
  page.latest.run(async (ask) => {
    const answer = await ask(page.server.machine_from_file, { text });
    if (answer.ok) page.editor.write(answer.text.trimEnd());
    else showNotice(answer.why);
  });

/** @param {MachineTab} page */
function show(page, text, typed = false) {
  if (!page.isOpen) return;
  if (/^\s*<[\s\S]*<structure\b/.test(text) || /^\s*<structure\b/.test(text)) convert(page, text);
  else page.drawing?.show(text, { typed });
}

/** @param {MachineTab} page */
function mark(page) {
  if (!page.isOpen || !page.drawing) return;
  const units = unitsIn(page.editor.area.value);
  page.drawing.problems(page.problems.map((one) => ({ ...one, from: units(one.start), to: units(one.end) })));
}

/** What the model had written up to the selected token; null if another grammar wrote it, or if it is no text. */
function written() {
  if (state.selected < 0 || state.ran !== grammarKey(state)) return null;
  const texts = state.steps.slice(0, state.selected + 1).map(({ token }) => (token.end ? "" : token.text));
  return texts.includes(undefined) ? null : texts.join("");
}

/** @import { Problem, Server } from "./wire" */
/** @import { createDrawing } from "./drawing.js" */
/** @param {HTMLElement} card @param {{ area: HTMLTextAreaElement, write: (text: string) => void }} editor
    @param {Server} server */
export function createMachineTab(card, editor, server) {
  const box = card.querySelector(".drawing");
  const sheet = card.querySelector(".editor");
  const fold = el("button", { "aria-expanded": "false", title: "The text of the machine" }, "Text");
  fold.addEventListener("click", () => foldText(page, fold.getAttribute("aria-expanded") === "true"));
  /** @type {MachineTab} */
  const page = {
    box,
    sheet,
    drawing: null,
    isOpen: false,
    problems: [],
    fold,
    latest: createLatest({ subject: () => editor.area.value }),
    editor,
    server,
  };
  editor.area.addEventListener("keydown", (event) => {
    if (page.isOpen && page.drawing?.undoKey(event)) event.stopPropagation();
  });
  on(
    "step",
    debounce(60, () => page.isOpen && page.drawing?.follow(written())),
  );
  return {
    /** Put the focus on the drawing, at the piece of the text if one is given; false if there is no drawing.
        @param {{ start: number, end: number } | null} [span] */
    focus(span = null) {
      if (!page.isOpen || !page.drawing || !sheet.classList.contains("folded")) return false;
      const units = unitsIn(editor.area.value);
      page.drawing.focus(span && [units(span.start), units(span.end)]);
      return true;
    },
    /** Turn to the drawing or away from it. */
    use(notation) {
      const was = page.isOpen;
      page.isOpen = notation === "machine";
      card.classList.toggle("draws", page.isOpen);
      box.hidden = !page.isOpen;
      if (page.isOpen !== was) foldText(page, !saved.get("machine text"));
      if (page.isOpen && !page.drawing) load(page);
    },
    show: (text, typed) => show(page, text, typed),
    /** Mark problems at the states and edges where they are. */
    problems(list) {
      page.problems = list;
      mark(page);
    },
  };
}
