/* The run card's requests to the server. Each holds the whole run of a branch: grammar, prompt and tokens, so the
   server keeps nothing of a visitor. */

import { el } from "./dom.js";
import { chatOf, grammarKey, grammarOf, state } from "./state.js";
import { hexOf, readOf } from "./tokens.js";
import { whyNodes } from "./why.js";
import { createWhyLight } from "./why-light.js";

/** @import { Branch, RunSettings } from "./branches.js" */
/** @import { Server } from "./wire" */

const ids = (branch, count = branch.steps.length) => branch.steps.slice(0, count).map((step) => step.id);
const soFar = (branch, count) =>
  branch.steps
    .slice(0, count)
    .map((step) => readOf(step) ?? "")
    .join("");

/** The methods that allow whatever the grammar allows. */
const EXACT = ["automaton", "composed", "unconstrained"];

const FREE =
  "The text up to the closing marker is free. Only special tokens are forbidden there, and after the last token of " +
  "the budget all that do not lead to the marker.";

/** @param {Server} server @param {() => RunSettings} settings */
export function createQuestions(server, settings) {
  /** A branch is asked about under its own grammar, prompt and model, with the other settings as they are now.
      @param {Branch} branch @param {number[]} prefix */
  const about = (branch, prefix) => ({
    ...settings(),
    hole: null,
    ...grammarOf(branch),
    prompt: branch.prompt,
    chat: chatOf(branch),
    model: branch.model,
    constraint: branch.constraint,
    lookahead: branch.lookahead,
    small_tokens: Boolean(branch.small_tokens),
    monitor: branch.monitor ?? "",
    draft: branch.draft ?? "",
    reasoning: branch.reasoning ?? null,
    prefix,
  });
  /** Whether a position is in the free part, where the grammar forbids nothing. */
  const free = (branch, index) => (branch.steps[index] ?? branch.next)?.free !== undefined;

  async function explain(ask, branch, index, tokens) {
    if (!branch || free(branch, index)) return null;
    const answer = await ask(server.explain_tokens, {
      ...about(branch, []),
      so_far: soFar(branch, index),
      tokens: tokens.map(hexOf),
    });
    return answer.reasons ?? null;
  }

  /** Why a token is forbidden. */
  const reason = (ask, branch, index, candidate) =>
    free(branch, index)
      ? { ok: false, why: FREE }
      : ask(server.why, { ...about(branch, []), so_far: soFar(branch, index), token: hexOf(candidate) });

  const light = createWhyLight();
  /** The whole reason a token is forbidden, as a panel. */
  async function why(ask, branch, index, candidate) {
    const answer = await reason(ask, branch, index, candidate);
    if (!answer.ok) return el("p.quiet", answer.why || "no reason is known");
    if (grammarKey(branch) === grammarKey(state)) light.show(answer);
    return whyNodes(answer);
  }

  /** The settings with which a picture computes a run's own mask after ``count`` tokens; empty for the exact mask. */
  function masked(branch, count) {
    const { finish, max_tokens } = branch.settings ?? settings();
    const { constraint, lookahead, small_tokens, monitor, reasoning, prompt, chat, prefix } = about(
      branch,
      ids(branch, count),
    );
    const narrows = !EXACT.includes(constraint ?? "") || small_tokens || monitor || reasoning || finish;
    const asked = { constraint, lookahead, small_tokens, monitor, reasoning, finish, max_tokens, prompt, chat, prefix };
    return narrows ? { masked: asked } : {};
  }

  return {
    about: (branch) => about(branch, ids(branch)),
    masked,
    unlit: light.hide,
    take: (ask, branch, token) => ask(server.take_token, { ...about(branch, ids(branch)), token }),
    turn: (ask, branch) => ask(server.turn, about(branch, ids(branch))),
    read: (ask, branch, text) => ask(server.read_text, { ...about(branch, []), read: text }),
    search: (ask, branch, index, query) => ask(server.find_tokens, { ...about(branch, ids(branch, index)), query }),
    explain,
    reason,
    why,
  };
}
