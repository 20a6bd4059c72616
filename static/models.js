/* Which model runs: those the page offers, and for its owner any other by its directory or hub id. */

wb.models = (box, server) => {
  const { el, state } = wb;
  const button = box.querySelector("button.model"),
    name = box.querySelector(".name"),
    list = box.querySelector("ul");
  const form = box.querySelector("form"),
    closed = box.querySelector(".closed"),
    input = form.querySelector("input");
  const sheet = wb.menu(box);
  let asking = 0,
    answered = 0;

  function draw(answer) {
    button.className = `model ${answer.state}`;
    name.textContent = answer.text;
    button.title = answer.title || "";
    form.hidden = !answer.may_open;
    closed.hidden = Boolean(answer.may_open) || (answer.models || []).length > 1;
    list.replaceChildren(
      ...(answer.models || []).map((each) => {
        const chosen = each.name === state.model || (!state.model && each === answer.models[0]);
        const [title, size] = each.text.split(" · ");
        return el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              "aria-pressed": String(chosen),
              class: `model ${each.state}`,
              title: each.title,
              onclick: () => choose(each.name),
            },
            el("i"),
            el("span", { class: "name" }, title),
            el("span", { class: "quiet" }, size || ""),
          ),
        );
      }),
    );
  }

  async function look() {
    const mine = ++asking;
    const answer = await wb.ask(server.model_state, {});
    answered = mine;
    if (mine !== asking) return;
    if (answer.fault) {
      button.className = "model failed";
      name.textContent = answer.fault;
      return;
    }
    draw(answer);
    wb.emit("model", { ...answer, name: state.model });
    wb.compiling(answer.compiling);
    if (answer.state === "loading" || answer.compiling)
      setTimeout(() => {
        if (mine === asking) look();
      }, 700);
  }

  /** Another model: other tokens, so everything drawn or decoded over tokens is another. */
  function choose(wanted) {
    sheet.close();
    if (wanted === state.model) return;
    state.model = wanted;
    look();
    wb.emit("compile now");
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) choose(input.value.trim());
  });
  wb.on("ready", look);
  wb.on("slow answer", () => {
    if (answered === asking) look();
  });
};
