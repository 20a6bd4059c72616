// The states of the run card: what each event does, and that one without a meaning changes nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { IDLE, isIdle, selectedIn, transition } from "../../static/run-state.js";

const after = (...events) => events.reduce(transition, IDLE);
const PLAY = { type: "play", before: 3, time: 10 };

test("a run begins, counts its time from the first record, and ends idle", () => {
  const running = after(PLAY);
  assert.deepEqual([running.kind, running.before, running.started], ["running", 3, 10]);
  assert.equal(transition(running, { type: "begin", time: 25 }).started, 25);
  assert.ok(isIdle(transition(running, { type: "finish" })));
});

test("a run that starts while a token is requested replaces the request", () => {
  const running = after({ type: "take" }, PLAY);
  assert.equal(running.kind, "running");
  assert.equal(transition(running, { type: "taken" }), running);
});

test("the next token cannot be selected while a run goes on", () => {
  assert.equal(after({ type: "select next" }).cursor.kind, "next");
  assert.equal(after({ type: "select next" }, PLAY).cursor.kind, "none");
  assert.equal(after(PLAY, { type: "select next" }).cursor.kind, "none");
});

test("the selected token stays selected in every state", () => {
  assert.equal(selectedIn(IDLE), -1);
  const events = [{ type: "select", index: 2 }, { type: "take" }, { type: "taken" }, PLAY, { type: "finish" }];
  for (let count = 1; count <= events.length; count++) assert.equal(selectedIn(after(...events.slice(0, count))), 2);
  assert.equal(selectedIn(after(...events, { type: "select nothing" })), -1);
});

test("an event without a meaning changes nothing", () => {
  for (const type of ["taken", "finish", "begin"]) assert.equal(transition(IDLE, { type, time: 1 }), IDLE);
  const running = after(PLAY);
  assert.equal(transition(running, { type: "take" }), running);
});
