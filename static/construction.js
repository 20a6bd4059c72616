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

/** The parts that are tried where the whole grammar is too large for a film. */
const MOST_TRIED = 8;
/** The frames of a film in which something happens. */
const FEWEST_FRAMES = 4;

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
    grammar = { ...grammarOf(state.compiled), example: state.compiled.example };
    which.replaceChildren();
    const answer = await offer("");
    if (!answer) return;
    part.replaceChildren(
      el("option", { value: "" }, "the whole grammar"),
      ...answer.parts.map(({ key, title }) => el("option", { value: key }, title)),
    );
    part.closest("label").hidden = !answer.parts.length;
    acts.hidden = true;
    says.textContent = "";
    show();
    const whole = await asked("");
    if (!whole.ok) part.value = await firstThatFits(answer.parts);
    if (!dialog.open) return;
    load();
    if (part.value)
      says.replaceChildren(
        el("span", { class: "quiet" }, `A part: of the whole grammar ${(whole.why ?? "").split(" — ")[0]}.`),
      );
  }
  /** Offer the constructions of a part; the chosen one stays, if the part has it. */
  async function offer(key) {
    const answer = await askServer(server.construction_list, { ...grammar, part: key });
    if (answer.fault || !answer.ok) return null;
    const usable = answer.constructions.filter((one) => !one.missing).map((one) => one.name),
      wanted = [which.value, OF_TAB[state.tab], "subsets", usable[0]].find((name) => usable.includes(name));
    which.replaceChildren(
      ...answer.constructions.map(({ name, title, missing }) =>
        el(
          "option",
          { value: name, disabled: Boolean(missing), title: missing || null },
          title + (missing ? ` (${missing})` : ""),
        ),
      ),
    );
    which.value = wanted;
    return answer;
  }
  const asked = (key) => askServer(server.construction_film, { ...grammar, construction: which.value, part: key });
  /** The key of the first part that has a film, with several frames if any has; empty where the whole says why. */
  async function firstThatFits(parts) {
    let first = "";
    for (const { key } of parts.slice(0, MOST_TRIED)) {
      if (!(await offer(key))) continue;
      const film = await asked(key);
      if (film.ok && film.frames.length >= FEWEST_FRAMES) return key;
      if (film.ok) first ||= key;
    }
    await offer(first);
    return first;
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
  which.addEventListener("change", load);
  part.addEventListener("change", async () => {
    await offer(part.value);
    load();
  });

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
