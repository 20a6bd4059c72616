/* The sections of the grammar card: problems, tests, rules, samples and more share one box. */

import { markChosen, onPress, roving, showNotice } from "./dom.js";
import { markSection, sectionButton } from "./grammar-card.js";
import { late } from "./late.js";
import { saved } from "./storage.js";

/** @import { GrammarCard } from "./grammar-card" */

/** Show a section; a grammar that cannot be read has nothing but problems. @param {GrammarCard} card */
export function showSection(card, name) {
  const shown = sectionButton(card, name).hidden ? "tests" : name;
  markChosen(card.tabs, "aria-selected", sectionButton(card, shown));
  for (const each of /** @type {HTMLCollectionOf<HTMLElement>} */ (card.panel.children))
    each.hidden = each.dataset.section !== shown;
  card.panel.scrollTop = 0;
  card.panel.hidden = card.folded && !card.forced; // problems that keep the grammar from being read are always shown
  card.folder.setAttribute("aria-expanded", String(!card.panel.hidden));
  if (shown === "samples") card.samples.ask();
  if (shown === "words") card.words.ask();
  if (shown === "syntax") card.syntax.ask();
  if (shown === "find") askSearch(card);
  if (shown === "change") card.change.ask();
}

/** @param {GrammarCard} card */
export function chooseSection(card, name) {
  card.section = name;
  card.forced = false;
  saved.set("section", name);
  foldSections(card, false);
}

/** Hide the sections and leave their room to the editor, or show them again. @param {GrammarCard} card */
function foldSections(card, hide) {
  card.folded = hide;
  saved.set("folded", hide);
  showSection(card, card.forced ? "problems" : card.section);
}

/** What is found in a text; the section is loaded when it is first opened. @param {GrammarCard} card */
export async function askSearch(card) {
  try {
    const { createSearch } = await late("search.js");
    card.search ??= createSearch(card.find("#wb-sec-find"), card.server, (count) =>
      markSection(card, "find", count, "quiet"),
    );
    card.search?.ask();
  } catch {
    showNotice("The search in a text could not be loaded. Open Find again to retry.");
  }
}

/** @param {GrammarCard} card */
export function listenToTabs(card) {
  if (!sectionButton(card, card.section)) card.section = "tests";
  card.folder.addEventListener("click", () => foldSections(card, !card.panel.hidden));
  onPress(card.tabs, (tab) => chooseSection(card, tab.dataset.section));
  roving(card.tabs, (tab) => chooseSection(card, tab.dataset.section));
}

/** @param {GrammarCard} card */
export function markTests(card, { all, judged, passed }) {
  const failing = passed < judged;
  const said = judged ? `${passed} of ${judged} tests pass` : "";
  if (card.aloud.textContent !== said) card.aloud.textContent = said;
  markSection(
    card,
    "tests",
    judged ? `${failing ? `✗ ${passed} of ${judged}` : passed} pass` : all ? String(all) : "",
    failing ? "no" : judged ? "good" : "quiet",
  );
}

/** @param {GrammarCard} card */
export function markChange(card, gained, lost) {
  const signs = [gained && "+", lost && "−"].filter(Boolean).join(" ");
  markSection(
    card,
    "change",
    signs,
    "warn",
    ` ${[gained && "gained a text", lost && "lost a text"].filter(Boolean).join(", ")}`,
  );
}
