/* A state is searched by number, rule or label: what was found is a list for the keyboard, and going
   to one asks the picture to draw the part it stands in. */

wb.find = (box, { ask, go }) => {
  const { el } = wb;
  const input = el("input", {
    type: "text",
    role: "combobox",
    placeholder: "Find a state",
    "aria-label": "Find a state by number, rule or label",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-controls": "wb-found",
    spellcheck: "false",
    autocomplete: "off",
  });
  const list = el("ul", { id: "wb-found", role: "listbox", "aria-label": "States found", hidden: true });
  box.append(input, el("kbd", { "aria-hidden": "true" }, "/"), list);
  let found = [],
    at = -1,
    request = 0;

  function show(open) {
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (!open) {
      at = -1;
      input.removeAttribute("aria-activedescendant");
    }
  }
  function choose(index) {
    at = index;
    for (const [i, row] of [...list.children].entries()) row.setAttribute("aria-selected", String(i === at));
    const row = list.children[at];
    if (!row) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    input.setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({ block: "nearest" });
  }
  function take(index) {
    const one = found[index];
    if (!one) return;
    show(false);
    go(one.id);
  }
  const look = wb.debounce(120, async () => {
    const mine = ++request,
      query = input.value.trim();
    if (!query) {
      show(false);
      return;
    }
    const answer = await ask(query);
    if (mine !== request) return;
    found = answer.found || [];
    list.replaceChildren(
      ...(found.length
        ? found.map((one, index) =>
            el(
              "li",
              {
                id: `wb-found-${index}`,
                role: "option",
                "aria-selected": "false",
                onpointerdown: (event) => {
                  event.preventDefault();
                  take(index);
                },
              },
              el("b", {}, one.number ?? one.id),
              el("span", {}, one.why),
            ),
          )
        : [
            el(
              "li",
              { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" },
              answer.fault || answer.why || "no state found",
            ),
          ]),
    );
    show(true);
    choose(found.length ? 0 : -1);
  });
  input.addEventListener("input", look);
  input.addEventListener("focus", () => {
    if (input.value.trim()) look.now();
  });
  input.addEventListener("blur", () => show(false));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !list.hidden) {
      event.preventDefault();
      choose((at + step + found.length) % Math.max(1, found.length));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      if (list.hidden) look.now();
      else take(at);
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      if (list.hidden) {
        input.value = "";
        input.blur();
      } else show(false);
    }
  });
  return {
    focus: () => {
      input.focus();
      input.select();
    },
    clear: () => {
      input.value = "";
      show(false);
    },
  };
};
