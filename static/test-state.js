/* The state of the list of tests: what the server answered, and what is shown of it. */

import { state } from "./state.js";

/** @import { createLatest } from "./ask.js" */
/** @import { createTestForm } from "./test-form.js" */
/** @import { ExpectedTest as Test } from "./events" */
/** @import { createWhyLight } from "./why-light.js" */
/** @import { Server, TestResult, TreeNode, Why } from "./wire" */

/** ``explained``: the test whose why is shown; ``origin``: the example of the tests; ``left``: those that left with its
    text; ``marked``: the selected node of the parse tree of a test.
    @typedef {{ title: string, tests: string }} Origin
    @typedef {{
      list: HTMLElement, line: HTMLElement, checking: ReturnType<typeof createLatest>,
      results: Map<string, TestResult>, explained: { test: Test, record: Why } | null, origin: Origin | null,
      left: { tests: Test[], came: Origin } | null, marked: (TreeNode & { test: string | null }) | null,
      explaining: ReturnType<typeof createLatest>, light: ReturnType<typeof createWhyLight>,
      form: ReturnType<typeof createTestForm>, server: Server,
      counted: (counts: { all: number, judged: number, passed: number }) => void,
    }} TestList */

/** A test in either shape that was ever written: a text, or a text with what is expected.
    @param {string | Partial<Test> & { text: string }} held @returns {Test} */
export const asTest = (held) =>
  typeof held === "string" ? { text: held, expect: null } : { text: held.text, expect: held.expect ?? null };

/** @param {TestList} testList @param {Test} test */
export const passes = (testList, test) => {
  const result = testList.results.get(test.text);
  return !result || !test.expect ? null : result.accepted === (test.expect === "accept");
};

/** @param {TestList} testList */
export function countTests(testList) {
  const judged = state.tests.filter((test) => passes(testList, test) !== null);
  testList.counted({
    all: state.tests.length,
    judged: judged.length,
    passed: judged.filter((test) => passes(testList, test)).length,
  });
}

/** @param {TestList} testList */
export function forget(testList) {
  testList.light.hide();
  testList.explained = null;
}
