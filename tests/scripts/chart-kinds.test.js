// The scales of the chart: a mark is where a bar of its value ends, and a longer bar has a gap.

import assert from "node:assert/strict";
import test from "node:test";

// what the imported modules ask a browser for
const root = { dataset: {}, classList: { toggle() {}, add() {} } };
const browser = {
  matchMedia: () => ({ addEventListener() {} }),
  document: { documentElement: root, body: root, addEventListener() {} },
};
Object.assign(globalThis, browser);
const { KINDS } = await import("../../static/chart-kinds.js");

const step = (values) => ({ s: 0, m: 0, kept: 1, rank: 1, rankm: 1, allowed: 1, stack: [], ...values });
/** The share of the mark with a label, and of the first bar of a step. */
function both(key, label, values) {
  const kind = KINDS[key],
    most = kind.most?.([step(values)]) ?? 1;
  const [mark] = kind.marks(most).find(([, each]) => each === label) ?? [];
  return [mark, kind.parts(step(values), most)[0][0]];
}

test("a bar ends at the mark of its value", () => {
  for (const [key, label, values] of [
    ["bits", "4", { s: 4 }],
    ["bits", "8 bits", { s: 8 }],
    ["kept", "50", { kept: 0.5 }],
    ["rank", "100", { rank: 100 }],
    ["allowed", "10,000", { allowed: 10_000 }],
    ["allowed", "1,000,000", { allowed: 1_000_000 }],
    ["stack", "4", { stack: ["a", "b", "c", "d"] }],
    ["time", "2.5", { ms: { model: 2.5, mask: 0, advance: 0 } }],
  ]) {
    const [mark, bar] = both(key, label, values);
    assert.equal(bar.toFixed(6), mark?.toFixed(6), `${key} ${label}`);
  }
});

test("bars of 8 and of 21 bits differ", () => {
  assert.deepEqual(KINDS.bits.cut?.(step({ s: 8, m: 4 })), [false, false]);
  assert.deepEqual(KINDS.bits.cut?.(step({ s: 21, m: 5 })), [true, true]);
  assert.deepEqual(KINDS.bits.cut?.(step({ s: null, m: null })), [true, true]);
});

test("a chart without values says how to get them", () => {
  assert.match(KINDS.needed.missing?.([step({})]) ?? "", /must finish/);
  assert.equal(KINDS.needed.missing?.([step({ budget: { left: 3, needs: 1 } })]), "");
});
