/* Quiet while a rule is typed: its problems are shown when it can be read, when the caret leaves it, or when the
   reader requests them. */

/** @import { Problem } from "./wire" */

/** Whether the caret is in a rule, or after it with at most one line break between. */
function isInside(points, caret, { start, end }) {
  if (caret < start) return false;
  return caret <= end || /^[^\S\n]*(\n[^\S\n]*)?$/.test(points.slice(end, caret).join(""));
}

const ENDS = ["pointerup", "pointercancel"];
let pressed = false; // whether a pointer is down
document.addEventListener("pointerdown", () => (pressed = true), { capture: true });
for (const end of ENDS) document.addEventListener(end, () => (pressed = false), { capture: true });
const isPressed = () => pressed;

/** ``changed`` is called when errors that were held back are to be shown.
    @param {HTMLTextAreaElement} area @param {() => void} changed */
export function createQuiet(area, changed) {
  let typing = false,
    unread = /** @type {{ start: number, end: number }[]} */ ([]), // the rules at the caret that cannot be read
    held = /** @type {Problem[]} */ ([]); // their problems
  const inside = (rule) => {
    const points = [...area.value];
    return isInside(points, [...area.value.slice(0, area.selectionStart)].length, rule);
  };
  function speak() {
    typing = false;
    if (held.length) changed();
  }
  // a press on a problem's button takes the focus: the list stays as it is until the click has arrived
  area.addEventListener("blur", () => {
    if (!isPressed()) speak();
    else for (const end of ENDS) document.addEventListener(end, () => setTimeout(speak), { once: true });
  });
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === area && held.length && !unread.some(inside)) speak();
  });
  return {
    speak,
    /** A text arrived, by typing or otherwise. */
    typed(byHand) {
      typing = byHand && document.activeElement === area;
      unread = held = []; // the rules have moved
    },
    /** The problems that are shown; the others are held back. */
    shown(problems) {
      unread = typing ? problems.flatMap(({ rule }) => (rule && inside(rule) ? [rule] : [])) : [];
      held = problems.filter(
        ({ rule, start }) => unread.includes(rule) || unread.some((each) => each.start <= start && start < each.end),
      );
      return problems.filter((problem) => !held.includes(problem));
    },
    get held() {
      return held.length;
    },
  };
}
