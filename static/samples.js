/* Samples: texts of the language, and texts that just miss it; each is one click from being a test. */

(() => {
  const { el, state } = wb;

  /** The samples in ``box``; ``put`` adds tests. */
  wb.sampleList = (box, server, put) => {
    let seed = 0,
      request = 0,
      shown = ""; // the grammar whose samples stand there

    function row(text, expect, what) {
      const has = state.tests.some((test) => test.text === text);
      const add = el(
        "button",
        {
          type: "button",
          class: "link add",
          disabled: has,
          title: `Add as a test that is expected to be ${expect}ed`,
          onclick: () => {
            put([{ text, expect }]);
            add.disabled = true;
            add.textContent = "added";
          },
        },
        has ? "added" : `+ ${expect}`,
      );
      const say = el("span", { class: "text" });
      if (text) say.append(wb.visible(text));
      else say.append(el("span", { class: "quiet" }, "the empty text"));
      return el("li", {}, add, say, what ? el("span", { class: "quiet what" }, what) : null);
    }

    function show(answer) {
      if (answer.fault || !answer.ok) {
        box.replaceChildren(el("p", { class: "quiet" }, answer.fault || answer.why));
        return;
      }
      const more = el(
        "button",
        {
          type: "button",
          class: "more",
          onclick: () => {
            seed += 1;
            shown = "";
            ask();
          },
        },
        "More",
      );
      const list = (name, rows) => {
        const ul = el("ul", { class: "samples", "aria-label": name }, ...rows);
        wb.grid(ul);
        return ul;
      };
      const none = el("p", { class: "quiet" }, "No text was found.");
      box.replaceChildren(
        el(
          "div",
          { class: "head" },
          el("span", { class: "quiet", title: `How they are drawn: ${answer.how}` }, "Accepted, drawn at random"),
          more,
        ),
        answer.texts.length
          ? list(
              "Samples",
              answer.texts.map((text) => row(text, "accept")),
            )
          : none,
        ...(answer.misses.length
          ? [
              el("div", { class: "head" }, el("span", { class: "quiet" }, "Almost: one edit away, and rejected")),
              list(
                "Near misses",
                answer.misses.map(({ text, what }) => row(text, "reject", what)),
              ),
            ]
          : []),
        el("p", { class: "how quiet" }, `Drawn: ${answer.how}.`),
      );
    }

    /** Ask for samples of the grammar as it stands, if those shown are not. */
    async function ask() {
      if (shown === wb.key(state) || !state.compiled?.ok) return;
      const mine = ++request,
        of = wb.key(state);
      if (!box.childNodes.length) box.replaceChildren(el("p", { class: "quiet" }, "drawing…"));
      const answer = await wb.ask(server.sample_texts, { ...wb.grammarOf(state), seed });
      if (mine !== request) return;
      shown = of;
      const held = box.contains(document.activeElement);
      show(answer);
      if (held) box.querySelector(".more")?.focus();
    }
    return {
      ask,
      open() {
        seed = 0;
        shown = "";
      },
    };
  };
})();
