/* The constructions of the grammar in the editor, frame by frame, in a dialog; a frame can be saved. */

import { createLatest } from "./ask.js";
import { copyText, createDialog, download, el, targetOf } from "./dom.js";
import { exportFiles } from "./export.js";
import { createFilm } from "./film.js";
import { fileNameNow, grammarOf, state } from "./state.js";

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
  const latest = createLatest({ busy: (waiting) => dialog.setAttribute("aria-busy", String(waiting)) });

  const open = () =>
    latest.run(async (ask) => {
      grammar = { ...grammarOf(state.compiled), example: state.compiled.example };
      which.replaceChildren();
      const answer = await offer(ask, "");
      if (answer) await choose(ask, answer);
    });
  for (const button of buttons) button.addEventListener("click", open);
  /** Show the dialog with the parts of the grammar, at the whole or at the first part that has a film. */
  async function choose(ask, answer) {
    part.replaceChildren(
      el("option", { value: "" }, "the whole grammar"),
      ...answer.parts.map(({ key, title }) => el("option", { value: key }, title)),
    );
    part.closest("label").hidden = !answer.parts.length;
    acts.hidden = true;
    says.textContent = "";
    show();
    const whole = await asked(ask, "");
    if (!whole.ok) part.value = await firstThatFits(ask, answer.parts);
    load();
    if (part.value)
      says.replaceChildren(
        el("span", { class: "quiet" }, `A part: of the whole grammar ${(whole.why ?? "").split(" — ")[0]}.`),
      );
  }
  /** Offer the constructions of a part; the chosen one stays, if the part has it. */
  async function offer(ask, key) {
    const answer = await ask(server.construction_list, { ...grammar, part: key });
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
  const asked = (ask, key) => ask(server.construction_film, { ...grammar, construction: which.value, part: key });
  /** The key of the first part that has a film, with several frames if any has; empty where the whole says why. */
  async function firstThatFits(ask, parts) {
    let first = "";
    for (const { key } of parts.slice(0, MOST_TRIED)) {
      if (!(await offer(ask, key))) continue;
      const film = await asked(ask, key);
      if (film.ok && film.frames.length >= FEWEST_FRAMES) return key;
      if (film.ok) first ||= key;
    }
    await offer(ask, first);
    return first;
  }

  function load() {
    const about = { ...grammar, construction: which.value, part: part.value };
    says.textContent = "";
    acts.hidden = true;
    /** @param {any} more */
    const question = (more) => server.construction_film({ ...about, ...more });
    box.classList.toggle("broad", !STACKED.includes(which.value));
    film = createFilm(question, "", {
      room: () => innerHeight - AROUND,
      arrived: (more) => {
        sent = { ...about, ...more };
        acts.hidden = false;
      },
    });
    film.figure.querySelector("figcaption").remove();
    box.replaceChildren(film.figure);
    film.load();
  }
  which.addEventListener("change", () => {
    latest.drop();
    load();
  });
  part.addEventListener("change", () =>
    latest.run(async (ask) => {
      await offer(ask, part.value);
      load();
    }),
  );

  // -- a frame as a file ------------------------------------------------------------------------
  const named = () => `${fileNameNow()}-${which.value}-${film.now().frame + 1}`;
  function svg() {
    const lives = film.now().pictures.map((pic) => pic.querySelector(".canvas svg:not(.leaving)"));
    download(`${named()}.svg`, "image/svg+xml", exportFiles.stacked(lives).text);
  }
  /** The frame for LaTeX; what went wrong is said under the film. @param {(tikz: string) => void} act */
  const withTikz = (act) =>
    latest.run(async (ask) => {
      const answer = await ask(server.frame_tikz, { ...sent, frame: film.now().frame });
      says.textContent = answer.fault || (answer.ok ? "" : answer.why);
      if (answer.ok) act(answer.tikz);
    });
  find("[data-act=svg]").addEventListener("click", svg);
  find("[data-act=tikz]").addEventListener("click", () => {
    const name = named();
    withTikz((text) => download(`${name}.tex`, "application/x-tex", text));
  });
  find("[data-act=copy]").addEventListener("click", (event) => withTikz((text) => copyText(text, event.target)));

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
    latest.drop();
    box.replaceChildren(); // a film that plays ends
    film = null;
    buttons.find((button) => button.checkVisibility())?.focus();
  });
}
