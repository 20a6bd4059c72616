"use strict";
/* The footer: the lessons, the endpoints (a page of Gradio's own), what runs here, the sheet of keys. */
wb.parts.footer = ({ element, server }) => {
  const { el } = wb;
  const find = (selector) => element.querySelector(selector);
  const sheet = find("dialog");
  document.body.append(sheet); // above everything, whatever frame Gradio puts around us

  find(".api").addEventListener("click", () => {
    document.querySelector("footer:not(.wb) .show-api")?.click();
    scrollTo({ top: 0 });
  });
  find(".learn").addEventListener("click", () => wb.emit("look", "learn"));
  find(".keys").addEventListener("click", () => wb.emit("help"));
  find(".about").addEventListener("click", async () => {
    sheet.showModal();
    const told = await wb.ask(server.about, {});
    const list = (pairs) => (pairs || []).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
    sheet.querySelector(".versions").replaceChildren(...list(told.fault ? [["server", told.fault]] : told.versions));
    sheet.querySelector(".limits").replaceChildren(...list(told.limits));
  });
  sheet.addEventListener("click", (event) => { if (event.target === sheet || event.target.closest(".close")) sheet.close(); });
};
