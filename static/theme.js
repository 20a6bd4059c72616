/* The theme, light or dark: it is set before anything is painted, to the one that was chosen last or the system's. */

import { emit } from "./state.js";

const systemTheme = matchMedia("(prefers-color-scheme: dark)");
function keptTheme() {
  try {
    return localStorage.getItem("wb-theme");
  } catch {
    return null;
  }
}
/** @param {boolean} dark */
function applyTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  emit("theme", dark);
}
const followSystem = () => applyTheme((keptTheme() || (systemTheme.matches ? "dark" : "light")) === "dark");
export function toggleTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("wb-theme", next);
  } catch {
    /* private window: it lasts as long as the page */
  }
  applyTheme(next === "dark");
}
systemTheme.addEventListener("change", followSystem);
followSystem();
