/* What an edit changed: a shortest text that came in and a shortest that went out, against the grammar as it was. */

(() => {
  const { el, state } = wb;

  /** The account in ``box``; ``put`` adds tests, ``counted`` is told what came and went. */
  wb.changeList = (box, server, put, counted) => {
    let before = null,
      request = 0,
      answered = "";
    const now = () => wb.grammarOf(state);
    const key = (held) => wb.key(held).trimEnd();
    const untouched = () => !before || key(before) === key(now());

    /** Compare with this one from here on. */
    function from(held, name) {
      before = { ...held, name };
      ++request;
      answered = "";
      tell();
    }
    const mark = () =>
      el(
        "button",
        {
          type: "button",
          class: "more",
          title: "From here on, changes are told against the grammar as it stands now",
          onclick: () => from(now(), "when you pressed “Start here”"),
        },
        "Start here",
      );
    const head = (...said) =>
      el(
        "div",
        { class: "head" },
        el("span", { class: "quiet" }, ...said),
        untouched() || !state.compiled?.ok ? null : mark(),
      );

    function tell(answer) {
      counted(0, 0);
      if (untouched())
        box.replaceChildren(
          head(
            before
              ? "Nothing has changed yet. Edit the grammar, and this tells a text that came in and one that went out."
              : "",
          ),
        );
      else if (!answer) box.replaceChildren(head("comparing…"));
      else if (answer.fault || !answer.ok) box.replaceChildren(head(answer.fault || answer.why));
      else show(answer);
    }

    function row({ text }, sign, colour, what, expect) {
      const say = el("span", { class: "text" });
      if (text) say.append(wb.visible(text));
      else say.append(el("span", { class: "quiet" }, "the empty text"));
      const add = el(
        "button",
        {
          type: "button",
          class: "link add",
          onclick: () => {
            put([{ text, expect }]);
            add.disabled = true;
            add.textContent = "added";
          },
        },
        `+ ${expect}`,
      );
      return el(
        "li",
        {},
        el("span", {}, el("b", { class: colour, "aria-hidden": "true" }, sign), ` ${what}`),
        say,
        add,
      );
    }

    function show({ same, exact, gained, lost, how }) {
      counted(gained ? 1 : 0, lost ? 1 : 0);
      const none = (what) =>
        el(
          "li",
          { class: "quiet" },
          el("span", {}, el("span", { "aria-hidden": "true" }, "="), ` ${what}`),
          el("span", {}, exact ? "nothing" : "nothing was found"),
          el("span", {}),
        );
      const rows = [
        gained ? row(gained, "+", "good", "came in", "accept") : none("came in"),
        lost ? row(lost, "−", "no", "went out", "reject") : none("went out"),
      ];
      const list = el("ul", { class: "changes", "aria-label": "What changed" }, ...rows);
      box.replaceChildren(
        head(
          same ? "Another text, the same language" : "A shortest text each way",
          `, against the grammar ${before.name}`,
        ),
        list,
        el("p", { class: "how quiet" }, `${how[0].toUpperCase() + how.slice(1)}.`),
      );
    }

    /** Compare, if it is not told yet. */
    async function ask() {
      if (untouched() || !state.compiled?.ok) {
        tell(untouched() ? null : { why: "The grammar cannot be read yet." });
        return;
      }
      const of = key(before) + key(now());
      if (of === answered) return;
      const mine = ++request;
      tell();
      const answer = await wb.ask(server.what_changed, { ...now(), before: wb.grammarOf(before) });
      if (mine !== request) return;
      answered = of;
      tell(answer);
    }
    return { ask, from };
  };
})();
