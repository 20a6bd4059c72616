// Types of all values: a module without parameters that are implicitly any stays so, and a new one begins so.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";

/** The modules in which values without a type are left; the list may only become shorter. */
const LAX = (
  "author branch-requests branches callout chart-kinds compare compare-audit compare-choice compare-columns " +
  "compare-controls compare-exact compare-groups compare-open compare-records compare-results compare-rows " +
  "compare-table compare-table-state completion connection construction drafts drag drawing drawing-edits " +
  "drawing-keys drawing-parts drawing-pointer drawing-state drawing-view edge-list editor editor-names exercise " +
  "exercise-check exercise-maker exercise-shelf export export-menu fields find-box flags glide grammar " +
  "grammar-compile grammar-notation grammar-sections graph graph-light graph-lines graph-pick graph-state header " +
  "inspector machine-follow machine-requests machine-shapes machine-tab machine-table machine-text measures " +
  "notations page paint panel picture picture-export picture-foot picture-looks picture-tabs problem-hint prompt " +
  "quiet replay results-file results-plot results-row results-rows results-state run run-acts run-page run-records " +
  "run-show search splitters stack-boxes stages stream strip syntax-card takeaway test-form test-text tests " +
  "token-strips tree why work"
).split(" ");

test("only the listed modules have values without a type", () => {
  const { stdout } = spawnSync("node_modules/.bin/tsc", ["--noImplicitAny"], { encoding: "utf-8" });
  const modules = [...stdout.matchAll(/^static\/([\w-]+)\.js\(/gm)].map(([, name]) => name);
  assert.deepEqual([...new Set(modules)].sort(), LAX);
});
