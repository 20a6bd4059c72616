/* The grammar in words, one line for each part. A line under the pointer or with the keyboard marks its part in the
   editor; the line of the innermost part at the caret is marked. */

import { createLatest } from "./ask.js";
import { createButton, el } from "./dom.js";
import { emit, grammarKey, grammarOf, state } from "./state.js";
import { addGridKeys } from "./tests.js";

/** @import { Answer, Server, WordedPart, WordsAnswer } from "./wire" */

/** The list in ``box``; it asks once for each grammar.
    @param {HTMLElement} box @param {Server} server
    @param {{ area: HTMLTextAreaElement,
      places(list: { start: number, end: number }[], kind?: string): void }} editor */
export function createWordList(box, server, editor) {
  const list = el("ul.words", { "aria-label": "The grammar in words" });
  box.append(list);
  const latest = createLatest();
  let of = "";
  /** @type {WordedPart[]} */
  let parts = [];

  const row = (/** @type {WordedPart} */ part) => {
    const line = createButton(part.sentence, { class: "line", title: "Go to this part" }, () => emit("place", part));
    line.style.marginLeft = `${Math.min(part.depth, 12) * 14}px`;
    line.addEventListener("pointerenter", () => editor.places([part], "part"));
    line.addEventListener("focus", () => editor.places([part], "part"));
    line.addEventListener("pointerleave", () => editor.places([]));
    line.addEventListener("blur", () => editor.places([]));
    return el("li", line);
  };
  /** @param {Answer<WordsAnswer>} answer */
  function show(answer) {
    parts = answer.lines ?? [];
    list.replaceChildren(
      ...(answer.ok ? parts.map(row) : [el("li.quiet", answer.why)]),
      ...(answer.cut ? [el("li.quiet", "and more parts; the list is cut here")] : []),
    );
    addGridKeys(list);
    follow();
  }
  /** Mark the line of the smallest part around the caret. */
  function follow() {
    const { area } = editor;
    const at = [...area.value.slice(0, area.selectionStart)].length;
    let best = -1;
    for (const [index, { start, end }] of parts.entries())
      if (start <= at && at <= end && (best < 0 || end - start <= parts[best].end - parts[best].start)) best = index;
    const isCaret = document.activeElement === area;
    for (const [index, li] of [...list.children].entries()) li.classList.toggle("here", isCaret && index === best);
    const here = list.children[best],
      panel = box.closest(".panel");
    if (!isCaret || !here) return;
    const seen = panel.getBoundingClientRect(),
      line = here.getBoundingClientRect();
    if (line.top < seen.top || line.bottom > seen.bottom)
      panel.scrollTop += line.top - seen.top - (seen.height - line.height) / 2;
  }
  document.addEventListener("selectionchange", () => {
    if (!box.hidden && document.activeElement === editor.area) follow();
  });

  return {
    ask() {
      if (!state.compiled?.ok || grammarKey(state.compiled) === of) {
        latest.drop();
        return;
      }
      const asked = grammarOf(state.compiled);
      latest.run(async (ask) => {
        const answer = await ask(server.tell_in_words, asked);
        of = grammarKey(asked);
        show(answer);
      });
    },
  };
}
