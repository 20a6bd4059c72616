// Texts: what an edit leaves of marks, and edits of a drawn machine's text.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  freeName,
  isName,
  labelled,
  marked,
  partAt,
  placed,
  readMachine,
  renamed,
  withEdge,
  withoutEdge,
  withoutState,
} from "../../static/machine-text.js";
import { sharedLengths, shiftMarks } from "../../static/text-edits.js";

test("two texts share their beginning and their end, which do not overlap", () => {
  assert.deepEqual(sharedLengths("abcd", "abxcd"), [2, 2]);
  assert.deepEqual(sharedLengths("aa", "aaa"), [2, 0]);
  assert.deepEqual(sharedLengths("", "abc"), [0, 0]);
  assert.deepEqual(sharedLengths("same", "same"), [4, 0]);
});

test("marks after an edit move, those in the edited text are gone", () => {
  const marks = [
    { from: 0, to: 2, name: "before" },
    { from: 1, to: 5, name: "inside" },
    { from: 6, to: 7, name: "after" },
  ];
  assert.deepEqual(shiftMarks(marks, "ab cd e", "ab xyz e"), [
    { from: 0, to: 2, name: "before" },
    { from: 7, to: 8, name: "after" },
  ]);
});

const MACHINE = "initial p\nfinal q, r  # ends\np -> q : a, b\nq -> r\nplace p 10 20.5\n";

test("a machine's text has states, edges with labels, and places", () => {
  const { states, edges } = readMachine(MACHINE);
  assert.deepEqual([...states.keys()], ["p", "q", "r"]);
  assert.deepEqual(states.get("p"), { name: "p", initial: true, final: false, place: { x: 10, y: 20.5 } });
  assert.deepEqual(
    edges.map(({ source, target, label }) => [source, target, label]),
    [
      ["p", "q", "a, b"],
      ["q", "r", ""],
    ],
  );
});

test("a piece of the text belongs to a state or an edge", () => {
  const model = readMachine(MACHINE);
  const label = MACHINE.indexOf("a, b");
  assert.deepEqual(partAt(model, MACHINE.indexOf("q"), MACHINE.indexOf("q") + 1), { state: "q" });
  assert.deepEqual(partAt(model, label, label + 4), { edge: 0 });
  assert.equal(partAt(readMachine("# nothing"), 0, 3), null);
});

test("an edit of the text changes what it says and keeps comments", () => {
  const edges = (text) => readMachine(text).edges.map(({ source, target, label }) => `${source}${label}${target}`);
  assert.deepEqual(edges(withEdge(MACHINE, "r", "p", "c")), ["pa, bq", "qr", "rcp"]);
  assert.deepEqual(edges(labelled(MACHINE, 1, "x")), ["pa, bq", "qxr"]);
  assert.deepEqual(edges(withoutEdge(MACHINE, 0)), ["qr"]);
  assert.deepEqual(edges(renamed(MACHINE, "q", "s")), ["pa, bs", "sr"]);
  assert.deepEqual([...readMachine(withoutState(MACHINE, "q")).states.keys()], ["p", "r"]);
  assert.ok(marked(MACHINE, "p", "final", true).includes("final q, r p  # ends"));
  assert.equal(readMachine(marked(MACHINE, "q", "final", false)).states.get("q")?.final, false);
  const moved = readMachine(placed(MACHINE, new Map([["p", { x: 1.26, y: 2 }]])));
  assert.deepEqual(moved.states.get("p")?.place, { x: 1.3, y: 2 });
});

test("a new state has a name that is free", () => {
  assert.equal(freeName(readMachine("q0 -> q2 : a")), "q1");
  assert.ok(isName("q_1'"));
  assert.ok(!isName("a b"));
});
