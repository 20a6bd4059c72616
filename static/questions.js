/* What the run card asks the server, each question about a branch: it names the whole run by its grammar, its prompt
   and its tokens, so the server keeps nothing of a visitor. */

(() => {
  const { el } = wb;
  const ids = (branch, count = branch.steps.length) => branch.steps.slice(0, count).map((step) => step.id);
  const soFar = (branch, count) =>
    branch.steps
      .slice(0, count)
      .map((step) => wb.hexOf(step.token) ?? "")
      .join("");

  wb.questions = (server, settings) => {
    /** A branch is asked about under its own grammar, prompt and model, with the knobs as they stand. */
    const about = ({ prompt, model, constraint, lookahead, small_tokens, ...held }, prefix) => ({
      ...settings(),
      ...wb.grammarOf(held),
      prompt,
      model,
      constraint,
      lookahead,
      small_tokens: Boolean(small_tokens),
      prefix,
    });

    async function explain(branch, index, tokens) {
      if (!branch) return null;
      const answer = await wb.ask(server.explain_tokens, {
        ...about(branch, []),
        so_far: soFar(branch, index),
        tokens: tokens.map(wb.hexOf),
      });
      return answer.reasons ?? null;
    }

    /** The whole reason a token is forbidden, as a panel; null takes it back. */
    async function why(branch, index, candidate) {
      if (!candidate) {
        wb.emit("why", null);
        return null;
      }
      const told = await wb.ask(server.why, {
        ...about(branch, []),
        so_far: soFar(branch, index),
        token: wb.hexOf(candidate),
      });
      if (!told.ok) return el("p", { class: "quiet" }, told.why || told.fault || "no reason is known");
      if (wb.key(branch) === wb.key(wb.state)) wb.emit("why", told);
      return wb.why(told);
    }

    return {
      about: (branch) => about(branch, ids(branch)),
      take: (branch, token) => wb.ask(server.take_token, { ...about(branch, ids(branch)), token }),
      turn: (branch) => wb.ask(server.turn, about(branch, ids(branch))),
      search: (branch, index, query) => wb.ask(server.find_tokens, { ...about(branch, ids(branch, index)), query }),
      explain,
      why,
    };
  };
})();
