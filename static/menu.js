/* The Export menu: what a picture can leave as. Other parts add their own entries. */
(() => {
  const entries = [];
  let redraw = () => {};
  wb.exports = {
    /** An entry: ``act(record, name, button)`` gets the picture that is shown and a name for its file; ``when(record)`` says whether it can be used. */
    add(label, act, when = () => true) {
      entries.push({ label, act, when });
      redraw();
    },
  };
  const drawn = (record) => Boolean(record.dot);
  wb.exports.add("Copy DOT", (record, _name, button) => wb.copy(record.dot, button), drawn);
  wb.exports.add("Download DOT", (record, name) => wb.download(`${name}.dot`, "text/vnd.graphviz", record.dot), drawn);
  wb.exports.add("Copy SVG", (record, _name, button) => wb.copy(record.svg, button));
  wb.exports.add("Download SVG", (record, name) => wb.download(`${name}.svg`, "image/svg+xml", record.svg));

  /** The menu in its place; the function it gives is told which picture is shown. */
  wb.exportMenu = (menu, named) => {
    const list = menu.querySelector("ul"),
      { close } = wb.menu(menu);
    let shown = null;
    redraw = () =>
      list.replaceChildren(
        ...entries
          .filter(({ when }) => shown && when(shown))
          .map(({ label, act }) => {
            const entry = wb.el("button", { type: "button" }, label);
            entry.addEventListener("click", () => {
              act(shown, named(), entry);
              if (!label.startsWith("Copy")) close();
            });
            return wb.el("li", {}, entry);
          }),
      );
    menu.style.visibility = "hidden"; // it keeps its room: the tabs beside it never move
    return (record) => {
      shown = record?.svg ? record : null;
      menu.style.visibility = shown ? "" : "hidden";
      redraw();
    };
  };
})();
