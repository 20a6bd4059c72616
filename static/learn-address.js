/* The lesson and the step in the address of the page; they are kept in the browser's storage too. */

import { parameters, setParameters } from "./address.js";
import { state } from "./state.js";
import { saved } from "./storage.js";

/** The lesson and the step, from 0, that the address names. */
export function readAddress() {
  const query = parameters();
  return { lesson: query.get("learn"), step: Number(query.get("step") || 1) - 1 };
}

/** The lesson and the step that were read last. @returns {{ lesson?: string, step: number }} */
export function lastRead() {
  const [lesson, step = 0] = saved.get("lesson at", null) ?? [];
  return { lesson, step: Number(step) };
}

/** @param {string} lesson @param {number} step */
export function writeAddress(lesson, step) {
  saved.set("lesson at", [lesson, step]);
  if (state.view !== "learn" || (document.body.dataset.shelf ?? "lessons") !== "lessons") return;
  setParameters({ learn: lesson, step: String(step + 1) });
}

export function clearAddress() {
  if (parameters().has("learn")) setParameters({ learn: null, step: null });
}
