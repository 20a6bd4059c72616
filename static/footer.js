/* The footer: lessons, API, About, keys, the version and the source. */

wb.parts.footer = ({ element, props, server }) => {
  const { el } = wb;
  const find = (selector) => element.querySelector(selector);
  const sheet = find("dialog"),
    open = wb.sheet(sheet);
  const { version, source } = JSON.parse(props.value);
  if (version) find(".version").textContent = `Version ${version}`;
  if (source) find(".version").after(el("a", { href: source, target: "_blank", rel: "noopener" }, "Source"));

  find(".api").addEventListener("click", () => {
    document.querySelector("footer:not(.wb) .show-api")?.click();
    scrollTo({ top: 0 });
  });
  find(".learn").addEventListener("click", () => wb.emit("look", "learn"));
  find(".keys").addEventListener("click", () => wb.emit("help"));
  find(".about").addEventListener("click", async () => {
    open();
    const answer = await wb.ask(server.about, {});
    const list = (pairs) => (pairs || []).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
    sheet
      .querySelector(".versions")
      .replaceChildren(...list(answer.fault ? [["server", answer.fault]] : answer.versions));
    sheet.querySelector(".limits").replaceChildren(...list(answer.limits));
  });
};
