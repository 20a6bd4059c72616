/* The Convert menu: the grammar that stands here, written in another notation and put into that one's tab. */

(() => {
  const { el, state } = wb;

  /** ``turned`` is given the grammar in its new notation. */
  wb.convertMenu = (menu, server, turned) => {
    const list = menu.querySelector("ul"),
      told = menu.querySelector(".told"),
      { close } = wb.menu(menu);
    menu.querySelector("button").addEventListener("click", () => {
      told.textContent = "";
      fill();
    });

    function fill() {
      const entries = Object.entries(wb.notations).filter(([name, { written }]) => written && name !== state.notation);
      list.replaceChildren(
        ...entries.map(([to, { label }]) =>
          el("li", {}, el("button", { type: "button", onclick: () => convert(to) }, `to ${label}`)),
        ),
      );
    }
    async function convert(to) {
      const asked = wb.grammarOf(state),
        { prompt, tests } = state;
      told.textContent = "converting…";
      const answer = await wb.ask(server.convert_grammar, { ...asked, to });
      if (wb.key(asked) !== wb.key(state)) return;
      told.textContent = answer.fault || answer.why || "";
      if (!answer.ok) return;
      close();
      turned({ text: answer.text, start: answer.start, notation: to, prompt, tests });
    }
  };
})();
