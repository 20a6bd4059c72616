// The stream of a run: its records arrive once and in order, wherever the pieces of the answer are cut.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createStream } from "../../static/stream.js";

globalThis.requestAnimationFrame = () => 1;

const bytes = (text) => new TextEncoder().encode(text);

/** A stream whose answer has these pieces, then ends, or fails with an error. */
function streamOf(pieces, { status = 200, error = null } = {}) {
  globalThis.fetch = async () => {
    const body = new ReadableStream({
      start(out) {
        for (const piece of pieces) out.enqueue(piece);
        if (error) out.error(error);
        else out.close();
      },
    });
    return new Response(body, { status });
  };
}

/** What a stream gives to its doors until it is over. */
const heard = () =>
  new Promise((resolve) => {
    const taken = [];
    const stream = createStream("run", {
      take(record) {
        taken.push(record);
        if (record.k !== "stop") return;
        stream.end();
        resolve({ taken });
      },
      arrived() {},
      dropped: (words, _advice, begun) => resolve({ taken, words, begun }),
    });
    stream.begin({ text: "a" });
  });

test("records are whole wherever the answer is cut, also in a character", async () => {
  const whole = bytes('{"k":"step","t":"é"}\n{"k":"step","t":"z"}\n{"k":"stop"}\n');
  for (let cut = 0; cut <= whole.length; cut++) {
    streamOf([whole.slice(0, cut), whole.slice(cut)]);
    assert.deepEqual((await heard()).taken, [{ k: "step", t: "é" }, { k: "step", t: "z" }, { k: "stop" }]);
  }
});

test("an answer that ends before the run says so, and whether the run had begun", async () => {
  streamOf([bytes('{"k":"step"}\n{"k":"st')]);
  assert.deepEqual(await heard(), { taken: [{ k: "step" }], words: "the server ended it", begun: true });
  streamOf([bytes('{"k":"step"}\n')], { status: 503 });
  assert.equal((await heard()).begun, false);
  streamOf([], { error: new Error("the connection was lost") });
  assert.equal((await heard()).begun, false);
});

test("a fault of the page itself is not taken for the end of the server", async () => {
  streamOf([bytes('{"k":"step"}\n')]);
  let dropped = false;
  const stream = createStream("run", {
    take() {
      throw new Error("of the page");
    },
    arrived() {},
    dropped() {
      dropped = true;
    },
  });
  await assert.rejects(stream.begin({}), /of the page/);
  assert.equal(dropped, false);
});
