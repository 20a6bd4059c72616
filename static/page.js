/* The page: its parts, and the one global object. */

import { mountCompare } from "./compare.js";
import { server } from "./connection.js";
import { createConstruction } from "./construction.js";
import { mountExercise } from "./exercise.js";
import { exportFiles } from "./export.js";
import { mountGrammar } from "./grammar.js";
import { mountFooter, mountHeader } from "./header.js";
import { mountLearn } from "./learn.js";
import { runTotals } from "./measures.js";
import { mountPicture } from "./picture.js";
import { mountRun } from "./run.js";
import { cards, emit, grammarKey, on, reportCompiling, state } from "./state.js";
import { saved } from "./storage.js";
import { mountTakeaway } from "./takeaway.js";
import { glyphs, hexOf } from "./tokens.js";
import { whyNodes } from "./why.js";
import { linkedWork, linkFragment, work, workLink } from "./work.js";

const PARTS = {
  header: mountHeader,
  exercise: mountExercise,
  grammar: mountGrammar,
  picture: (context) => mountPicture(context, { createConstruction }),
  run: mountRun,
  takeaway: mountTakeaway,
  learn: mountLearn,
  compare: mountCompare,
  footer: mountFooter,
};

/** Mount the parts of the page; before that nothing has its size, and a visitor would see it slide into place. A page
    without parts, that of the API, has the theme alone. */
function mountParts() {
  const opening = document.getElementById("wb-opening");
  if (!opening) return;
  const context = { server, opening: JSON.parse(String(opening.textContent)) };
  for (const [name, mount] of Object.entries(PARTS))
    mount({ ...context, element: /** @type {HTMLElement} */ (document.getElementById(`wb-${name}`)) });
  emit("ready");
  wb.ready = true;
  for (const part of document.querySelectorAll(".wb")) part.style.visibility = "";
}

/** The only global, for the console and the tests. No part of the page reads it. */
const wb = {
  ready: false,
  state,
  on,
  emit,
  key: grammarKey,
  hexOf,
  glyphs,
  saved,
  work,
  fragment: linkFragment,
  link: workLink,
  linked: linkedWork,
  take: exportFiles,
  why: whyNodes,
  totals: runTotals,
  compiling: reportCompiling,
  get run() {
    return cards.run;
  },
};
window.wb = wb;
addEventListener("DOMContentLoaded", mountParts);
