/* The tab of drawn machines: above the editor of its text the drawing, whose script is loaded when the tab is first
   opened. */

import { createLatest } from "./ask.js";
import { debounce, el, showNotice } from "./dom.js";
import { late } from "./late.js";
import { unitsIn } from "./paint.js";
import { grammarKey, on, state } from "./state.js";
import { saved } from "./storage.js";

/** @import { Servers } from "./wire" */

/** @param {HTMLElement} card @param {{ area: HTMLTextAreaElement, write: (text: string) => void }} editor
    @param {Servers["grammar"]} server */
export function createMachineTab(card, editor, server) {
  const box = card.querySelector(".drawing"),
    sheet = card.querySelector(".editor");
  /** @type {any} once its script is here */
  let drawing = null;
  let isOpen = false,
    problems = [];
  const fold = el("button", { type: "button", "aria-expanded": "false", title: "The text of the machine" }, "Text");

  function foldText(hidden) {
    sheet.classList.toggle("folded", isOpen && hidden);
    fold.setAttribute("aria-expanded", String(!hidden));
    fold.setAttribute("aria-pressed", String(!hidden));
    saved.set("machine text", !hidden);
  }
  fold.addEventListener("click", () => foldText(fold.getAttribute("aria-expanded") === "true"));

  async function load() {
    try {
      const { createDrawing } = await late("drawing.js");
      drawing ??= createDrawing(box, { server, write: editor.write, more: [fold] });
      show(editor.area.value);
      mark();
    } catch {
      showNotice("The drawing could not be loaded: its text can be edited.");
      foldText(false);
    }
  }
  const latest = createLatest({ subject: () => editor.area.value });
  /** A file of JFLAP is put into the editor as text. */
  const convert = (text) =>
    latest.run(async (ask) => {
      const answer = await ask(server.machine_from_file, { text });
      if (answer.ok) editor.write(answer.text.trimEnd());
      else showNotice(answer.fault || answer.why);
    });
  function show(text, typed = false) {
    if (!isOpen) return;
    if (/^\s*<[\s\S]*<structure\b/.test(text) || /^\s*<structure\b/.test(text)) convert(text);
    else drawing?.show(text, { typed });
  }
  editor.area.addEventListener("keydown", (event) => {
    if (isOpen && drawing?.undoKey(event)) event.stopPropagation();
  });

  function mark() {
    if (!isOpen || !drawing) return;
    const units = unitsIn(editor.area.value);
    drawing.problems(problems.map((one) => ({ ...one, from: units(one.start), to: units(one.end) })));
  }

  /** What the model had written up to the selected token; null if another grammar wrote it, or if it is no text. */
  function written() {
    if (state.selected < 0 || state.ran !== grammarKey(state)) return null;
    const texts = state.steps.slice(0, state.selected + 1).map(({ token }) => (token.end ? "" : token.text));
    return texts.includes(undefined) ? null : texts.join("");
  }
  on(
    "step",
    debounce(60, () => isOpen && drawing?.follow(written())),
  );

  return {
    /** Put the focus on the drawing, at the piece of the text if one is given; false if there is no drawing.
        @param {{ start: number, end: number } | null} [span] */
    focus(span = null) {
      if (!isOpen || !drawing || !sheet.classList.contains("folded")) return false;
      const units = unitsIn(editor.area.value);
      drawing.focus(span && [units(span.start), units(span.end)]);
      return true;
    },
    /** Turn to the drawing or away from it. */
    use(notation) {
      const was = isOpen;
      isOpen = notation === "machine";
      card.classList.toggle("draws", isOpen);
      box.hidden = !isOpen;
      if (isOpen !== was) foldText(!saved.get("machine text"));
      if (isOpen && !drawing) load();
    },
    show,
    /** Mark problems at the states and edges where they are. */
    problems(list) {
      problems = list;
      mark();
    },
  };
}
