// The columns of a comparison: what each shows of a method's runs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { COLUMNS } from "../../static/compare-columns.js";

const run = (method, end, steps = []) => ({ method, prompt: "", seed: 1, steps, why: "", end });
const END = { tokens: 100, forward_passes: 100, valid: true, proper: true, stop: "accepted", tokens_per_second: 10 };

test("valid counts the runs that the grammar accepts", () => {
  const runs = [run("a", END), run("a", { ...END, valid: false, stop: "token budget" })];
  assert.equal(COLUMNS.valid.of(runs, runs).value, 0.5);
});

test("passes are divided by tokens", () => {
  const runs = [run("a", { ...END, forward_passes: 50 })];
  assert.equal(COLUMNS.passes.of(runs, runs).value, 0.5);
});

test("speed has no ratio without two even runs of the model alone, and one with them", () => {
  const own = [run("automaton", { ...END, tokens_per_second: 20, tokens: 400, forward_passes: 200 })];
  const alone = [run("unconstrained", { ...END, tokens: 400 }), run("unconstrained", { ...END, tokens: 400 })];
  assert.equal(COLUMNS.speed.of(own, [...own, alone[0]]).minor, "no ratio");
  assert.equal(COLUMNS.speed.of(own, [...own, ...alone]).shown, "×2.00");
  assert.equal(COLUMNS.speed.of([run("automaton", { ...END, tokens_per_second: null })], own).shown, "—");
});
