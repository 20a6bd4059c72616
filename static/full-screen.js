/* A part of the page on the whole screen, or in the whole window. Esc leaves it. */

import { isPageKey, useUp } from "./dom.js";

/** Let ``button`` show ``part`` on the whole screen; its text is meanwhile its ``data-leave``. ``key`` is called with
    each key pressed there outside of fields, before other elements, and returns whether it was used. ``screen`` is
    false for a part that fills the window only: there Esc is a key as any other, and ``leaves`` returns whether it
    leaves now.
    @param {HTMLElement} part @param {HTMLElement} button
    @param {{ key?: (event: KeyboardEvent) => boolean, changed?: () => void, leaves?: () => boolean,
      screen?: boolean }} [doors] */
export function createFullScreen(
  part,
  button,
  { key = () => false, changed = () => {}, leaves = () => true, screen = true } = {},
) {
  const isOn = () => part.classList.contains("fullscreen");
  /** @param {boolean} on */
  function show(on) {
    if (on === isOn()) return;
    part.classList.toggle("fullscreen", on);
    button.setAttribute("aria-pressed", String(on));
    if (button.dataset.leave)
      [button.textContent, button.dataset.leave] = [button.dataset.leave, button.textContent ?? ""];
    changed();
    if (on && screen) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (!on && document.fullscreenElement) document.exitFullscreen().catch(() => {});
  }
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => show(!isOn()));
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement) show(false);
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (!isOn() || !isPageKey(event)) return;
      const isLeft = event.key === "Escape" && leaves();
      if (!isLeft && !key(event)) return;
      if (isLeft) show(false);
      useUp(event);
    },
    true,
  );
  return { show, isOn };
}
