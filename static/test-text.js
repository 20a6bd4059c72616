/* A test in the list: its text with the character that cannot be read, and what came of it in words. */

import { el } from "./dom.js";
import { passes } from "./test-state.js";
import { visibleText } from "./tokens.js";
import { whyNodes } from "./why.js";

/** @import { TestList } from "./test-state" */

/** Where a text fails, in words. */
function placeOf(text, offset) {
  const lines = [...text].slice(0, offset).join("").split("\n"),
    column = `column ${[...lines[lines.length - 1]].length + 1}`;
  return text.includes("\n") ? `line ${lines.length}, ${column}` : column;
}

/** What came of a test, in words. @param {TestList} testList */
export function outcomeOf(testList, test, result) {
  const said = el("span.outcome");
  if (passes(testList, test) === false) said.append(el("b.no", "fails: "), result.accepted ? "it is accepted" : "");
  if (!result.accepted)
    said.append(
      result.at_end ? "not finished; expected " : `${placeOf(test.text, result.offset)}: expected `,
      el("b", result.expected || "nothing more"),
    );
  said.title = said.textContent ?? "";
  return said;
}

/** The text, with the character that cannot be read underlined. @param {TestList} testList */
export function shownText(testList, test, result) {
  const { text } = test,
    { marked } = testList;
  const say = el("button.say", { title: "Edit" });
  if (!text) say.append(el("span.quiet", "the empty text"));
  else if (marked && marked.test === text) {
    const points = [...text],
      [start, end] = marked.characters;
    const read = el("mark.innode", visibleText(points.slice(start, end).join("")));
    say.append(visibleText(points.slice(0, start).join("")), read, visibleText(points.slice(end).join("")));
  } else if (result && !result.accepted && !result.at_end) {
    const points = [...text];
    const bad = el("span.squig");
    bad.append(visibleText(points[result.offset]));
    say.append(
      visibleText(points.slice(0, result.offset).join("")),
      bad,
      visibleText(points.slice(result.offset + 1).join("")),
    );
  } else {
    say.append(visibleText(text));
    if (result && !result.accepted) say.append(el("span.squig.void"));
  }
  return say;
}

/** @param {TestList} testList */
export const signOf = (testList, test, result) => {
  const passed = passes(testList, test);
  if (passed === null)
    return result
      ? el("span.quiet", { title: result.accepted ? "accepted" : "rejected" }, result.accepted ? "✓" : "✗")
      : el("span.quiet", { title: "not tried" }, "·");
  return el(
    "span",
    { class: passed ? "good" : "no", title: passed ? "passes" : "fails" },
    passed ? "✓" : "✗",
    el("span.sr", passed ? " passes: " : " fails: "),
  );
};

export function reasonOf(record) {
  const problem = record.ok === false ? record.why : "";
  return el("div.because", problem || !whyNodes ? problem || record.reason : whyNodes(record));
}
