/* The picture on the whole screen, with the text of the run: the arrow keys go from token to token. */

import { el, hasModifier, targetOf } from "./dom.js";
import { createFullScreen } from "./full-screen.js";
import { emit, on, state } from "./state.js";
import { glyphs, tokenNodes } from "./tokens.js";

/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 };

/** @param {(selector: string) => HTMLElement} find @param {HTMLElement} card */
export function createWalkthrough(find, card) {
  const box = find(".walkthrough"),
    text = box.querySelector(".text");
  const screen = createFullScreen(card, find(".zoom .large"), {
    key: ({ key }) => {
      if (STEPS[key]) emit("walk", STEPS[key]);
      return key in STEPS;
    },
    changed: () => write(),
  });
  box.addEventListener("click", (event) => emit("walk", Number(targetOf(event).closest("[data-by]")?.dataset.by ?? 0)));
  find(".pic.main").addEventListener("keydown", (event) => {
    if (event.key === "f" && !hasModifier(event)) screen.show(!screen.isOn());
  });
  /** The text of the run, with the selected token marked. */
  function write() {
    if (!screen.isOn()) return;
    const { steps, selected } = state;
    text.replaceChildren(
      ...(steps.length ? [] : ["No run yet"]),
      ...steps.map((step, index) =>
        el(index === selected ? "mark" : "span", {}, step.token.end ? tokenNodes(step.token) : glyphs(step.token)),
      ),
    );
    text.querySelector("mark")?.scrollIntoView({ block: "nearest", inline: "center" });
  }
  on("step", write);
}
