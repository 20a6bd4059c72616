/* Outline: every rule with whom it calls, who calls it, and what is true of it. */

(() => {
  const { el } = wb;
  const TOLD = {
    start: "every text begins here",
    unused: "no rule that is used calls it",
    "never ends": "no text can be derived from it",
    recursive: "it calls itself, or is called by a rule it calls",
    "left-recursive": "it calls itself before anything is read",
    "may be empty": "the empty text is one of its texts",
    regular: "it needs no stack",
  };
  const LOUD = new Set(["unused", "never ends"]);

  /** The list in ``box``; ``counted`` is told how many rules there are. */
  wb.outlineList = (box, counted) => {
    let rules = [],
      live = new Set();
    const goTo = (name) => {
      const rule = rules.find((each) => each.name === name);
      if (rule) wb.emit("place", rule.places[0]);
    };

    function names(told, list) {
      if (!list.length) return null;
      const links = list.map((name) =>
        el("button", { type: "button", class: "link name", title: `Go to ${name}`, onclick: () => goTo(name) }, name),
      );
      return el(
        "span",
        { class: "names" },
        `${told} `,
        ...links.flatMap((link, index) => (index ? [", ", link] : [link])),
      );
    }

    /** A button that goes to one place after the other. */
    function uses(places) {
      let next = 0;
      return el(
        "button",
        {
          type: "button",
          class: "link count",
          title: "Go to where it is used, one after the other",
          onclick: () => wb.emit("place", places[next++ % places.length]),
        },
        places.length === 1 ? "used once" : `used ${places.length} times`,
      );
    }

    const row = (rule) =>
      el(
        "li",
        { class: live.has(rule.name) ? "now" : "", "data-rule": rule.name },
        el(
          "button",
          {
            type: "button",
            class: "link def",
            title: "Go to its definition",
            onclick: () => wb.emit("place", rule.places[0]),
          },
          rule.name,
        ),
        el(
          "span",
          { class: "about" },
          el(
            "span",
            { class: "flags" },
            ...rule.flags.map((flag) =>
              el("span", { class: `flag${LOUD.has(flag) ? " loud" : ""}`, title: TOLD[flag] }, flag),
            ),
          ),
          names("calls", rule.calls),
          names("called by", rule.called_by),
          rule.references.length ? uses(rule.references) : null,
        ),
      );

    function show(answer) {
      rules = answer.rules ?? [];
      const more = answer.left_out
        ? [el("li", { class: "quiet" }, `and ${wb.number(answer.left_out)} more rules`)]
        : [];
      box.replaceChildren(...rules.map(row), ...more);
      wb.grid(box);
      counted(rules.length);
    }
    wb.on("live rules", (now) => {
      live = new Set(now);
      for (const li of box.children) li.classList.toggle("now", live.has(li.dataset.rule));
      const inner = box.querySelector(`[data-rule="${CSS.escape(now[now.length - 1] ?? "")}"]`),
        panel = box.closest(".panel");
      if (!inner || box.parentNode.hidden || panel.contains(document.activeElement)) return;
      const below = inner.getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom,
        above = inner.getBoundingClientRect().top - panel.getBoundingClientRect().top;
      panel.scrollTop += below > 0 ? below + 6 : Math.min(0, above - 6);
    });
    return { show };
  };
})();
