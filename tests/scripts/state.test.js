// The page's state: its events, the key of a grammar, and names that are kept or become the beginnings of file names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { chatOf, cleanTitle, emit, fileNameNow, grammarKey, on, state, systemOf } from "../../static/state.js";

test("every listener of an event gets its details, in the order of registration", () => {
  const calls = [];
  on("walk", (by) => calls.push(["first", by]));
  on("walk", (by) => calls.push(["second", by]));
  emit("walk", -1);
  emit("help");
  assert.deepEqual(calls, [
    ["first", -1],
    ["second", -1],
  ]);
});

test("the key of a grammar has its options in any order, its hole and its text", () => {
  const grammar = { text: "a", notation: "regex", start: "start", options: { b: true, a: 1 } };
  const key = grammarKey(grammar);
  assert.equal(grammarKey({ ...grammar, options: { a: 1, b: true }, prompt: "other" }), key);
  for (const change of [{ text: "b" }, { notation: "kbnf" }, { start: "s" }, { options: {} }])
    assert.notEqual(grammarKey({ ...grammar, ...change }), key);
  assert.notEqual(grammarKey({ ...grammar, hole: { prefix: "", suffix: "" } }), key);
});

test("a title is one line without unseen characters", () => {
  assert.equal(cleanTitle("  a\n\u202eb\u200b "), "a  b");
  assert.equal(cleanTitle(undefined), "");
  assert.equal(cleanTitle("x".repeat(100)).length, 80);
});

test("a file name has letters of any script, and no path", () => {
  state.ownTitle = "../é ル!";
  assert.equal(fileNameNow(), "é-ル");
  state.ownTitle = "";
  assert.equal(fileNameNow(), "grammar");
});

test("a system message becomes a chat and comes back", () => {
  for (const system of [null, "", "Answer in JSON."]) assert.equal(systemOf(chatOf({ system })), system);
});
