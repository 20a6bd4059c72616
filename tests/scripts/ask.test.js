// The helper for questions to the server: what becomes of answers, errors and signs when a newer request takes over.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { askServer, createLatest, sleep } from "../../static/ask.js";
import { on } from "../../static/state.js";

/** A question whose answers the test gives, in any order. */
function heldQuestion() {
  const asked = [];
  const question = (sent) => new Promise((answer, fail) => asked.push({ sent, answer, fail }));
  return { asked, question };
}

/** Requests that show their answers. */
function shownAnswers(options) {
  const { asked, question } = heldQuestion(),
    latest = createLatest(options),
    shown = [];
  const request = (subject) =>
    latest.run(async (ask) => {
      const answer = await ask(question, { subject });
      shown.push(answer.fault ?? answer.text);
      return answer;
    });
  return { asked, latest, request, shown };
}

test("an older answer that arrives last is not used", async () => {
  const { asked, request, shown } = shownAnswers();
  const older = request("older"),
    newer = request("newer");
  asked[1].answer({ text: "newer" });
  assert.equal((await newer).text, "newer");
  asked[0].answer({ text: "older" });
  assert.equal(await older, undefined);
  assert.deepEqual(shown, ["newer"]);
});

test("an older answer that arrives first is not used either", async () => {
  const { asked, request, shown } = shownAnswers();
  const older = request("older"),
    newer = request("newer");
  asked[0].answer({ text: "older" });
  await older;
  assert.deepEqual(shown, []);
  asked[1].answer({ text: "newer" });
  await newer;
  assert.deepEqual(shown, ["newer"]);
});

test("an older error is not seen, and its question is not repeated", async () => {
  const { asked, request, shown } = shownAnswers();
  const older = request("older"),
    newer = request("newer");
  asked[0].fail(new Error("the connection was lost"));
  asked[1].answer({ text: "newer" });
  await Promise.all([older, newer, sleep(700)]);
  assert.deepEqual(shown, ["newer"]);
  assert.equal(asked.length, 2);
});

test("the sign of waiting ends with the newest request alone", async () => {
  const signs = [];
  const { asked, request } = shownAnswers({ busy: (waiting) => signs.push(waiting) });
  const older = request("older"),
    newer = request("newer");
  asked[0].answer({ text: "older" });
  await older;
  assert.deepEqual(signs, [true, true]);
  asked[1].answer({ text: "newer" });
  await newer;
  assert.deepEqual(signs, [true, true, false]);
});

test("a request that is dropped ends with its sign", async () => {
  const signs = [];
  const { asked, latest, request, shown } = shownAnswers({ busy: (waiting) => signs.push(waiting) });
  const dropped = request("dropped");
  assert.equal(latest.waits, true);
  latest.drop();
  latest.drop();
  assert.equal(latest.waits, false);
  asked[0].answer({ text: "dropped" });
  assert.equal(await dropped, undefined);
  assert.deepEqual(shown, []);
  assert.deepEqual(signs, [true, false]);
});

test("an answer about another subject is not used, and the sign ends", async () => {
  let text = "a";
  const signs = [];
  const { asked, request, shown } = shownAnswers({ busy: (waiting) => signs.push(waiting), subject: () => text });
  const changed = request("a");
  text = "ab";
  asked[0].answer({ text: "of a" });
  assert.equal(await changed, undefined);
  assert.deepEqual(shown, []);
  assert.deepEqual(signs, [true, false]);
});

test("a request of several questions ends between them", async () => {
  const { asked, question } = heldQuestion(),
    latest = createLatest(),
    steps = [];
  const chain = latest.run(async (ask) => {
    await ask(question, { step: 1 });
    steps.push(1);
    await ask(question, { step: 2 });
    steps.push(2);
  });
  asked[0].answer({});
  await sleep(0);
  latest.drop();
  await chain;
  assert.deepEqual(steps, [1]);
  assert.deepEqual(
    asked.map(({ sent }) => sent.step),
    [1, 2],
  );
});

test("other promises are awaited in a request as answers are", async () => {
  const latest = createLatest();
  let go, done;
  const older = latest.run(async (_ask, wait) => {
    await wait(new Promise((resolve) => (go = resolve)));
    done = true;
  });
  await latest.run(async () => {});
  go();
  await older;
  assert.equal(done, undefined);
});

test("an error of the page itself is not hidden", async () => {
  const latest = createLatest();
  await assert.rejects(
    latest.run(async () => {
      throw new TypeError("a mistake");
    }),
    TypeError,
  );
  assert.equal(latest.waits, false);
});

test("the newest request's error becomes a sentence", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { asked, request, shown } = shownAnswers();
  const answer = request("newest");
  for (const wait of [500, 2000, 0]) {
    asked.at(-1).fail(new Error("the connection was lost"));
    await new Promise(setImmediate);
    mock.timers.tick(wait);
    await new Promise(setImmediate);
  }
  await answer;
  mock.timers.reset();
  assert.equal(asked.length, 3);
  assert.match(shown[0], /did not answer/);
});

test("a question that waits at a busy server ends with its request", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const numbers = [];
  on("busy", (waiting) => numbers.push(waiting));
  const { asked, latest, request, shown } = shownAnswers();
  const busy = request("busy");
  asked[0].answer({ fault: "the server is busy", busy: 7 });
  await new Promise(setImmediate);
  latest.drop();
  mock.timers.tick(60_000);
  await busy;
  await new Promise(setImmediate);
  mock.timers.reset();
  assert.deepEqual(numbers, [7]);
  assert.equal(asked.length, 1);
  assert.deepEqual(shown, []);
});

test("a request that is replaced closes its connection; the others get no signal", async () => {
  const signals = [];
  const question = (_sent, signal) => {
    signals.push(signal);
    return new Promise((_, fail) => signal?.addEventListener("abort", () => fail(new Error("aborted"))));
  };
  const latest = createLatest();
  const older = latest.run((ask) => ask(question, {}));
  latest.run((ask) => ask(question, {}));
  assert.equal(await older, undefined);
  assert.deepEqual(
    signals.map((signal) => signal?.aborted),
    [true, false],
  );
  latest.drop();
  askServer(question, {});
  assert.equal(signals.at(-1), null);
});

test("an empty answer is an answer", async () => {
  let count = 0;
  const answer = await askServer(async () => {
    count += 1;
    return "";
  }, {});
  assert.deepEqual([answer, count], ["", 1]);
});
