/* The page: its parts, mounted as Gradio brings their skeletons, and the one global object. */

import { passSignals } from "./ask.js";
import { mountCompare } from "./compare.js";
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
import { watchEventStream } from "./stream.js";
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

/** Resolves when the page's style sheets are loaded; Gradio loads them parallel to the scripts and does not wait. */
const styled = () =>
  Promise.all(
    [...document.querySelectorAll("link[href*='wb/']")].map(
      (sheet) =>
        new Promise((/** @type {(value?: unknown) => void} */ go) => {
          if (sheet.sheet) {
            go();
            return;
          }
          for (const end of ["load", "error"]) sheet.addEventListener(end, go, { once: true });
        }),
    ),
  );

const mounted = new Set();
/** Called by each Gradio component when it is on the page; the page starts when all are, and has
    its look: before that nothing has its size, and a visitor would see it slide into place. */
async function mount(name, context) {
  PARTS[name](context);
  mounted.add(name);
  if (Object.keys(PARTS).some((each) => !mounted.has(each))) return;
  await styled();
  emit("ready");
  wb.ready = true;
  for (const part of document.querySelectorAll(".wb")) part.style.visibility = "";
}

/** The only global: ``mount`` for the scripts of Gradio's components, the rest for the console and the tests. No part
    of the page reads it. */
const wb = {
  ready: false,
  mount,
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
watchEventStream();
passSignals();
