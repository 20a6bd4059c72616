/* The header: which example, which notation, which model, which theme; and the sheet of keys. */
"use strict";
wb.parts.header = ({ element, props, server }) => {
  const { el, state } = wb;
  const find = (selector) => element.querySelector(selector);
  const picker = find("select"), notation = find(".seg"), model = find(".model"), theme = find(".theme"), help = find(".helpbutton"), sheet = find("dialog");
  const page = JSON.parse(props.value);
  state.gallery = page.gallery;

  const groups = new Map();
  page.gallery.forEach((example, index) => {
    if (!groups.has(example.group)) groups.set(example.group, []);
    groups.get(example.group).push(el("option", { value: String(index) }, example.title));
  });
  picker.replaceChildren(el("option", { value: "", hidden: true }, "Your own"), ...[...groups].map(([name, options]) => (name ? el("optgroup", { label: name }, ...options) : options)).flat());

  function say(kind) {
    for (const button of notation.querySelectorAll("button")) if (button.dataset.notation === kind) wb.choose(notation, "aria-checked", button);
  }
  function open(index, first) {
    const example = { ...page.gallery[index], first: Boolean(first) };
    picker.value = String(index);
    state.example = example;
    say(example.notation);
    wb.emit("example", example);
  }
  picker.addEventListener("change", () => { if (picker.value !== "") open(Number(picker.value)); });
  const switchTo = (button) => { say(button.dataset.notation); picker.value = ""; wb.emit("notation", button.dataset.notation); };
  notation.addEventListener("click", (event) => { const button = event.target.closest("button"); if (button && button.dataset.notation !== state.notation) switchTo(button); });
  wb.roving(notation, switchTo);
  wb.on("switch", (kind) => switchTo(notation.querySelector(`[data-notation="${kind}"]`)));
  wb.on("typed", () => { picker.value = ""; });

  theme.addEventListener("click", wb.toggleTheme);
  const named = (dark) => theme.setAttribute("aria-label", dark ? "Switch to light" : "Switch to dark");
  wb.on("theme", named);
  named(document.documentElement.dataset.theme === "dark");

  const openHelp = () => { if (!sheet.open) sheet.showModal(); };
  document.body.append(sheet); // above everything, whatever frame Gradio puts around us
  help.addEventListener("click", openHelp);
  sheet.addEventListener("click", (event) => { if (event.target === sheet || event.target.closest(".close")) sheet.close(); });
  document.addEventListener("keydown", (event) => {
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName) || event.ctrlKey || event.metaKey || event.altKey || sheet.open) return;
    if (event.key === "?") { event.preventDefault(); openHelp(); }
    if (event.key === "g") { event.preventDefault(); document.querySelector("#wb-picture .pic").focus(); }
    if (event.key === "e") { event.preventDefault(); wb.emit("focus editor"); }
    if (event.key === "t") { const token = document.querySelector("#wb-run .tok[tabindex='0']"); if (token) { event.preventDefault(); token.focus(); } }
  });

  async function look() {
    const answer = await wb.ask(server.model_state, {});
    if (answer.fault) Object.assign(answer, { state: "failed", text: "server not reached", title: answer.fault });
    model.className = "model " + answer.state;
    model.replaceChildren(el("i"), answer.text);
    model.title = answer.title || "";
    wb.emit("model", answer);
    if (answer.state === "loading") setTimeout(look, 700);
  }

  find(".share").addEventListener("click", async (event) => {
    const link = await wb.link();
    history.replaceState(null, "", link);
    wb.copy(link, event.target);
  });

  wb.on("ready", async () => {
    look();
    const shared = await wb.linked();
    if (shared) {
      picker.value = "";
      state.example = shared;
      say(shared.notation);
      wb.emit("example", shared);
      return;
    }
    const asked = new URLSearchParams(location.search);
    const wanted = page.gallery.findIndex((example) => example.name === asked.get("example"));
    if (asked.get("tab")) state.tab = asked.get("tab");
    if (page.gallery.length) open(Math.max(0, wanted, wanted < 0 ? page.first : 0), true);
  });
};
