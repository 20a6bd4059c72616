/* The field under the tests: a text is tried while it is typed, and becomes a test with Enter. It may have several
   lines: typed with Shift+Enter, written \n, or pasted. */

import { createLatest } from "./ask.js";
import { arrowTarget, createButton, debounce, el, useUp } from "./dom.js";
import { state, wholeOf } from "./state.js";

/** @import { ExpectedTest } from "./events" */
/** @import { Server } from "./wire" */

export const NEXT = { accept: "reject", reject: "accept" };
export const TOLD = { accept: "expected to be accepted", reject: "expected to be rejected" };

const BREAK = /(\\+)n/g;
/** The text that is meant: \n is a line break, \\n a backslash and n; any other backslash stays. */
export const meantText = (written) =>
  written.replace(BREAK, (_, marks) => (marks === "\\" ? "\n" : `${marks.slice(1)}n`));
/** How a text is written so that ``meantText`` gives it. */
export const writtenText = (text) => text.replace(BREAK, "\\$1n");

/** Enter keeps a text, with Ctrl or without; Shift+Enter is a line break. */
export const isEntered = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing;

/** The choice between one test and a test a line, asked under the field.
    @param {HTMLElement} box @param {HTMLElement} field @param {(texts: string[]) => void} take */
function createPasteChoice(box, field, take) {
  const close = () => {
    const inside = box.contains(document.activeElement);
    box.hidden = true;
    box.replaceChildren();
    if (inside) field.focus();
  };
  const act = (words, texts) =>
    createButton(words, { class: "small" }, () => {
      close();
      take(texts);
    });
  box.addEventListener("keydown", (event) => {
    const next = arrowTarget(box, event.key);
    if (event.key === "Escape") close();
    else if (next) next.focus();
    else return;
    useUp(event);
  });
  return {
    close,
    ask(text) {
      const lines = text.split("\n").filter((line) => line);
      box.replaceChildren(
        el("span.quiet", "Pasted:"),
        act("one test", [text]),
        act(`${lines.length} tests, one per line`, lines),
        createButton("cancel", { class: "link" }, close),
      );
      box.hidden = false;
      box.querySelector("button").focus();
      box.scrollIntoView({ block: "nearest" });
    },
  };
}

/** Try the text that is typed before it is a test; ``sign`` shows what came of it. */
function createTrial(field, sign, server) {
  const trial = createLatest({ subject: () => field.value });
  const show = (result) => {
    sign.className = `trying ${result ? (result.accepted ? "good" : result.at_end ? "quiet" : "no") : "quiet"}`;
    sign.textContent = result ? (result.accepted ? "✓" : result.at_end ? "…" : "✗") : "+";
    sign.title = result
      ? result.accepted
        ? "accepted"
        : result.at_end
          ? "not finished"
          : `fails at column ${result.column}`
      : "";
  };
  return debounce(150, () =>
    trial.run(async (ask) => {
      const texts = [meantText(field.value)];
      const answer = texts[0] && state.compiled?.ok && (await ask(server.check_texts, { ...wholeOf(state), texts }));
      show(answer?.results?.[0]);
    }),
  );
}

/** The form; ``put`` gets the tests that are added.
    @param {HTMLElement} form @param {Server} server @param {(tests: ExpectedTest[]) => void} put */
export function createTestForm(form, server, put) {
  const field = form.querySelector("textarea"),
    wanted = form.querySelector(".expect"),
    escapes = form.querySelector(".escapes");
  const tryOut = createTrial(field, form.querySelector(".trying"), server);
  const add = (texts) => {
    put(texts.map((text) => ({ text, expect: wanted.textContent })));
    form.scrollIntoView({ block: "nearest" });
    field.focus();
  };
  const choice = createPasteChoice(form.querySelector(".pasted"), field, add);

  /** What is expected of the text that is added next. */
  function want(expect) {
    wanted.textContent = expect;
    wanted.className = `expect ${expect}`;
    wanted.title = `Added as ${TOLD[expect]}; press to change`;
  }
  wanted.addEventListener("click", () => want(NEXT[wanted.textContent]));
  want("accept");

  const typed = () => {
    escapes.textContent = "\\n is a line break; write \\\\n for a backslash and n.";
    escapes.hidden = meantText(field.value) === field.value;
    choice.close();
    tryOut();
    form.scrollIntoView({ block: "nearest" });
  };
  field.addEventListener("input", typed);
  const submit = (event) => {
    event.preventDefault();
    add([meantText(field.value)]);
    field.value = "";
    typed();
    tryOut.now();
  };
  form.addEventListener("submit", submit);
  field.addEventListener("keydown", (event) => {
    if (isEntered(event)) submit(event);
  });
  field.addEventListener("paste", (event) => {
    const text = (event.clipboardData?.getData("text") ?? "").replace(/\r\n?/g, "\n");
    const lines = text.replace(/\n$/, "").split("\n");
    if (field.value || (lines.length < 2 && lines[0] === text)) return;
    event.preventDefault();
    if (lines.length > 1) choice.ask(text);
    else document.execCommand("insertText", false, lines[0]);
  });
  return { focus: () => field.focus() };
}
