/* The constructions of the grammar in the editor, frame by frame, in a dialog; a frame can be saved. */

import { createLatest } from "./ask.js";
import { copyText, createDialog, download, el, hasModifier, targetOf } from "./dom.js";
import { exportFiles } from "./export.js";
import { createFilm } from "./film.js";
import { fileNameNow, grammarOf, state } from "./state.js";

/** @typedef {{
      which: HTMLSelectElement, part: HTMLSelectElement, box: HTMLElement, says: HTMLElement, acts: HTMLElement,
      show: () => void, film: ReturnType<typeof createFilm> | null, grammar: (GrammarText & { example: string }) | null,
      sent: Record<string, unknown> | null, latest: ReturnType<typeof createLatest>,
      server: Server,
    }} ConstructionSheet */

/** @import { Server } from "./wire" */
/** @import { GrammarText } from "./state.js" */
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

/** @param {ConstructionSheet} sheet */
const open = (sheet) =>
  sheet.latest.run(async (ask) => {
    sheet.grammar = { ...grammarOf(state.compiled), example: state.compiled.example };
    sheet.which.replaceChildren();
    const answer = await offer(sheet, ask, "");
    if (answer) await choose(sheet, ask, answer);
  });

/** Show the dialog with the parts of the grammar, at the whole or at the first part that has a film.
    @param {ConstructionSheet} sheet */
async function choose(sheet, ask, answer) {
  sheet.part.replaceChildren(
    el("option", { value: "" }, "the whole grammar"),
    ...answer.parts.map(({ key, title }) => el("option", { value: key }, title)),
  );
  sheet.part.closest("label").hidden = !answer.parts.length;
  sheet.acts.hidden = true;
  sheet.says.textContent = "";
  sheet.show();
  const whole = await requestOf(sheet, ask, "");
  if (!whole.ok) sheet.part.value = await firstThatFits(sheet, ask, answer.parts);
  loadFilm(sheet);
  if (sheet.part.value)
    sheet.says.replaceChildren(el("span.quiet", `A part: of the whole grammar ${(whole.why ?? "").split(" — ")[0]}.`));
}

/** Offer the constructions of a part; the chosen one stays, if the part has it. @param {ConstructionSheet} sheet */
async function offer(sheet, ask, key) {
  const answer = await ask(sheet.server.construction_list, { ...sheet.grammar, part: key });
  if (!answer.ok) return null;
  const namesOf = (kind) => answer.constructions.filter(kind).map((one) => one.name);
  const before = [sheet.which.value, OF_TAB[state.tab], "subsets"],
    firstOf = (names) => before.find((name) => names.includes(name)) ?? names[0];
  const wanted = firstOf(namesOf((one) => !one.missing)) ?? firstOf(namesOf((one) => one.exists));
  sheet.which.replaceChildren(
    ...answer.constructions.map(({ name, title, missing }) =>
      el(
        "option",
        { value: name, disabled: Boolean(missing), title: missing || null },
        title + (missing ? ` (${missing})` : ""),
      ),
    ),
  );
  sheet.which.value = wanted ?? ""; // the film of one that is too large says so
  return answer;
}

/** @param {ConstructionSheet} sheet */
const requestOf = (sheet, ask, key) =>
  ask(sheet.server.construction_film, { ...sheet.grammar, construction: sheet.which.value, part: key });

/** The key of the first part that has a film, with several frames if any has; empty where the whole says why.
    @param {ConstructionSheet} sheet */
async function firstThatFits(sheet, ask, parts) {
  let first = "";
  for (const { key } of parts.slice(0, MOST_TRIED)) {
    if (!(await offer(sheet, ask, key))) continue;
    if (sheet.which.selectedOptions[0]?.disabled) continue;
    const film = await requestOf(sheet, ask, key);
    if (film.ok && film.frames.length >= FEWEST_FRAMES) return key;
    if (film.ok) first ||= key;
  }
  await offer(sheet, ask, first);
  return first;
}

/** @param {ConstructionSheet} sheet */
function loadFilm(sheet) {
  const about = { ...sheet.grammar, construction: sheet.which.value, part: sheet.part.value };
  sheet.says.textContent = "";
  sheet.acts.hidden = true;
  /** @param {object} more */
  const question = (more) => sheet.server.construction_film({ ...about, ...more });
  sheet.box.classList.toggle("broad", !STACKED.includes(sheet.which.value));
  const film = createFilm(question, "", {
    room: () => innerHeight - AROUND,
    arrived: (more) => {
      sheet.sent = { ...about, ...more };
      sheet.acts.hidden = false;
    },
  });
  film.figure.querySelector("figcaption").remove();
  sheet.box.replaceChildren(film.figure);
  sheet.film = film;
  film.load();
}

/** @param {ConstructionSheet} sheet */
const fileNameOf = (sheet) => `${fileNameNow()}-${sheet.which.value}-${(sheet.film?.now().frame ?? 0) + 1}`;

/** @param {ConstructionSheet} sheet */
function saveSvg(sheet) {
  const lives = sheet.film?.now().pictures.map((pic) => pic.querySelector(".canvas svg:not(.leaving)"));
  download(`${fileNameOf(sheet)}.svg`, "image/svg+xml", exportFiles.stacked(lives ?? []).text);
}

/** The frame for LaTeX; what went wrong is said under the film. @param {ConstructionSheet} sheet
    @param {(tikz: string) => void} act */
const withTikz = (sheet, act) =>
  sheet.latest.run(async (ask) => {
    const answer = await ask(sheet.server.frame_tikz, { ...sheet.sent, frame: sheet.film?.now().frame });
    sheet.says.textContent = (!answer.ok && answer.why) || "";
    if (answer.ok) act(answer.tikz);
  });

/** @param {HTMLDialogElement} dialog @param {HTMLElement[]} buttons
    @param {Server} server */
export function createConstruction(dialog, buttons, server) {
  const find = (selector) => dialog.querySelector(selector);
  const which = find("[name=construction]");
  const part = find("[name=part]");
  const box = find(".filmbox");
  const latest = createLatest({ busy: (waiting) => dialog.setAttribute("aria-busy", String(waiting)) });
  /** @type {ConstructionSheet} */
  const sheet = {
    which,
    part,
    box,
    says: find(".says"),
    acts: find(".acts"),
    show: createDialog(dialog),
    film: null,
    grammar: null,
    sent: null,
    latest,
    server,
  };
  for (const button of buttons) button.addEventListener("click", () => open(sheet));
  which.addEventListener("change", () => {
    latest.drop();
    loadFilm(sheet);
  });
  part.addEventListener("change", () =>
    latest.run(async (ask) => {
      await offer(sheet, ask, part.value);
      loadFilm(sheet);
    }),
  );
  find("[data-act=svg]").addEventListener("click", () => saveSvg(sheet));
  find("[data-act=tikz]").addEventListener("click", () => {
    const name = fileNameOf(sheet);
    withTikz(sheet, (text) => download(`${name}.tex`, "application/x-tex", text));
  });
  find("[data-act=copy]").addEventListener("click", (event) => withTikz(sheet, (text) => copyText(text, event.target)));
  // a button that its own press disables loses the focus to the document
  document.addEventListener("keydown", (event) => {
    if (!dialog.open || hasModifier(event) || !sheet.film) return;
    if (targetOf(event).closest("input, select, .pic")) return;
    const act = {
      ArrowRight: () => sheet.film?.step(1),
      ArrowLeft: () => sheet.film?.step(-1),
      Home: () => sheet.film?.first(),
      End: () => sheet.film?.last(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  dialog.addEventListener("close", () => {
    latest.drop();
    box.replaceChildren(); // a film that plays ends
    sheet.film = null;
    buttons.find((button) => button.checkVisibility())?.focus();
  });
}
