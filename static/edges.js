/* What an edge stands for, when somebody clicks it: all its tokens, to be searched; or its characters. */

wb.edges = (box, ask) => {
  const { el } = wb;
  let request = 0,
    from = null;
  const close = () => {
    request += 1;
    box.hidden = true;
    from?.focus?.({ preventScroll: true });
  };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  });

  async function show(edge, record, origin, index) {
    const mine = ++request;
    from = origin;
    const name = (id) => record.states.find((each) => each.id === id)?.label || id;
    const list = el("ul", { class: "tokens", tabindex: "0", "aria-label": "Labels of this edge" });
    const told = el("span", { class: "told", role: "status" });
    const filter = el("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "Search what stands at this edge",
      spellcheck: "false",
      hidden: true,
    });
    const head = el(
      "header",
      {},
      el("span", { class: "chip" }, name(edge.source)),
      "→",
      el("span", { class: "chip" }, name(edge.target)),
      told,
      el("span", { class: "grow" }),
      el("button", { type: "button", class: "bare", "aria-label": "Close", onclick: close }, "×"),
    );
    const effect = [
      ...edge.pops.map((item) => el("p", {}, el("b", { class: "pop" }, "▼"), " pops ", el("code", {}, item))),
      ...edge.pushes.map((item) => el("p", {}, el("b", { class: "push" }, "▲"), " pushes ", el("code", {}, item))),
    ];
    box.replaceChildren(head, filter, list, ...(effect.length ? [el("div", { class: "effect" }, ...effect)] : []));
    box.hidden = false;
    let items = edge.labels.length ? edge.labels.flatMap((label) => label.split("\n")) : ["a call"];
    const fill = () => {
      const wanted = filter.value.toLowerCase();
      const left = items.filter((item) => item.toLowerCase().includes(wanted));
      list.replaceChildren(...left.slice(0, 400).map((item) => el("li", {}, item)));
      if (left.length > 400)
        list.append(el("li", { class: "more" }, `and ${wb.number(left.length - 400)} more; search to see them`));
      if (!left.length) list.append(el("li", { class: "more" }, "nothing at this edge holds that"));
    };
    filter.addEventListener("input", fill);
    told.textContent = edge.count
      ? `${wb.number(edge.count)} token${edge.count === 1 ? "" : "s"}`
      : edge.title && edge.title !== items.join(" ")
        ? edge.title.split("\n")[0]
        : "";
    if (!edge.count && edge.detail) items = [...items, ...edge.detail.split(", ")];
    fill();
    if (edge.count > 1) {
      const answer = await ask(edge, index);
      if (mine !== request) return;
      if (answer.ok && answer.tokens.length) {
        items = answer.tokens;
        told.textContent = `${wb.number(answer.count)} token${answer.count === 1 ? "" : "s"}${answer.count > items.length ? `, the first ${wb.number(items.length)} listed` : ""}`;
      }
      filter.hidden = items.length < 9;
      fill();
    } else filter.hidden = items.length < 9;
  }
  return {
    show,
    close: () => {
      if (!box.hidden) {
        request += 1;
        box.hidden = true;
      }
    },
  };
};
