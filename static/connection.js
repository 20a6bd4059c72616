/* The connection to the server: a question is a POST with a JSON object as its answer; a run is a POST whose answer has
   a record in each line. A request that ends closes its connection, and the server stops its work. */

import { randomName } from "./state.js";

/** @import { Server } from "./wire" */

/** The name of this tab: the server lets the tabs of all visitors take turns. */
const TAB = randomName();

/** @param {string} path @param {object} fields @param {AbortSignal | null} [signal] */
const post = (path, fields, signal) =>
  fetch(`wb/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Workbench-Tab": TAB },
    body: JSON.stringify(fields),
    signal,
  });

/** The answer to a question, or ``{ fault }`` if the server refuses it. An error of the server is thrown: callers ask
    again. @param {string} name @param {object} fields @param {AbortSignal | null} [signal] */
async function question(name, fields, signal) {
  const answer = await post(`ask/${name}`, fields, signal);
  if (answer.status >= 500) throw new Error(`answered with ${answer.status}`);
  return answer.ok ? answer.json() : { fault: (await answer.json()).detail };
}

/** The questions of the page, each a function of its fields. @type {Server} */
export const server = new Proxy(/** @type {any} */ ({}), {
  get: (_, name) => (fields, signal) => question(String(name), fields, signal),
});

/** The records of a run or a comparison as they arrive, in lists.
    @param {string} name @param {object} fields @param {AbortSignal} signal @returns {AsyncGenerator<any[]>} */
export async function* records(name, fields, signal) {
  const answer = await post(name, fields, signal);
  if (!answer.ok || !answer.body) throw new Error(`answered with ${answer.status}`);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length) yield lines.map((line) => JSON.parse(line));
  }
}
