/* The constructions of the grammar in the editor, frame by frame, in a dialog; a frame can be saved. */

import { copyText, createDialog, download, el, targetOf } from "./dom.js";
import { exportFiles } from "./export.js";
import { createFilm } from "./film.js";
import { askServer, grammarOf, state } from "./state.js";

/** @import { Context } from "./wire" */

/** The construction that belongs to the machine on a tab. */
const OF_TAB = { tokens: "tokens", stack: "stack", rules: "stack" };

/** The films of long machines: their pictures are stacked at every width. */
const STACKED = ["subsets", "minimal"];

/** Pixels of the window's height that are around the pictures. */
const AROUND = 370;

/** @param {HTMLDialogElement} dialog @param {HTMLElement[]} buttons
    @param {Pick<Context<"picture">, "server">["server"]} server */
export function createConstruction(dialog, buttons, server) {
  const find = (selector) => dialog.querySelector(selector);
  const which = find("[name=construction]"),
    part = find("[name=part]"),
    box = find(".filmbox"),
    says = find(".says"),
    acts = find(".acts");
  const show = createDialog(dialog);
  let film = /** @type {any} */ (null),
    grammar = /** @type {any} */ (null),
    sent = /** @type {any} */ (null);

  for (const button of buttons) button.addEventListener("click", open);
  async function open() {
    const { example } = state.compiled,
      answer = await askServer(server.construction_list, grammarOf(state.compiled));
    if (answer.fault || !answer.ok) return;
    grammar = { ...grammarOf(state.compiled), example };
    const usable = answer.constructions.filter((one) => !one.missing).map((one) => one.name),
      wanted = OF_TAB[state.tab] || "subsets";
    which.replaceChildren(
      ...answer.constructions.map(({ name, title, missing }) =>
        el(
          "option",
          { value: name, disabled: Boolean(missing), title: missing || null },
          title + (missing ? ` (${missing})` : ""),
        ),
      ),
    );
    which.value = usable.includes(wanted) ? wanted : usable[0];
    part.replaceChildren(
      el("option", { value: "" }, "the whole grammar"),
      ...answer.parts.map(({ key, title }) => el("option", { value: key }, title)),
    );
    part.closest("label").hidden = !answer.parts.length;
    show();
    load();
  }

  function load() {
    sent = { ...grammar, construction: which.value, part: part.value };
    says.textContent = "";
    acts.hidden = true;
    /** @param {any} more */
    const ask = async (more) => {
      sent = { ...sent, ...more };
      const answer = await server.construction_film(sent);
      acts.hidden = !answer.ok;
      return answer;
    };
    box.classList.toggle("broad", !STACKED.includes(which.value));
    film = createFilm(ask, "", { room: () => innerHeight - AROUND });
    film.figure.querySelector("figcaption").remove();
    box.replaceChildren(film.figure);
    film.load();
  }
  for (const choice of [which, part]) choice.addEventListener("change", load);

  // -- a frame as a file ------------------------------------------------------------------------
  const named = () => `${exportFiles.called()}-${which.value}-${film.now().frame + 1}`;
  function svg() {
    const lives = film.now().pictures.map((pic) => pic.querySelector(".canvas svg:not(.leaving)"));
    download(`${named()}.svg`, "image/svg+xml", exportFiles.stacked(lives).text);
  }
  /** The frame for LaTeX; what went wrong is said under the film. */
  async function tikz() {
    const answer = await askServer(server.frame_tikz, { ...sent, frame: film.now().frame });
    says.textContent = answer.fault || (answer.ok ? "" : answer.why);
    return answer.ok ? answer.tikz : null;
  }
  find("[data-act=svg]").addEventListener("click", svg);
  find("[data-act=tikz]").addEventListener("click", async () => {
    const name = named(),
      text = await tikz();
    if (text) download(`${name}.tex`, "application/x-tex", text);
  });
  find("[data-act=copy]").addEventListener("click", async (event) => {
    const text = await tikz();
    if (text) copyText(text, event.target);
  });

  // a button that its own press disables loses the focus to the document
  document.addEventListener("keydown", (event) => {
    if (!dialog.open || event.ctrlKey || event.metaKey || event.altKey || !film) return;
    if (targetOf(event).closest("input, select, .pic")) return;
    const act = {
      ArrowRight: () => film.step(1),
      ArrowLeft: () => film.step(-1),
      Home: () => film.first(),
      End: () => film.last(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  dialog.addEventListener("close", () => {
    box.replaceChildren(); // a film that plays ends
    film = null;
    buttons.find((button) => button.checkVisibility())?.focus();
  });
}
