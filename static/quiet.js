/* Quiet while a rule is typed: its syntax errors are shown when the caret leaves it, or when the reader
   requests them. */

/** Whether the caret is in a rule, or after it with at most one line break between. */
function isInside(points, caret, { start, end }) {
  if (caret < start) return false;
  return caret <= end || /^[^\S\n]*(\n[^\S\n]*)?$/.test(points.slice(end, caret).join(""));
}

/** ``changed`` is called when errors that were held back are to be shown.
    @param {any} area @param {() => void} changed */
export function createQuiet(area, changed) {
  let typing = false,
    held = /** @type {any[]} */ ([]);
  const inside = (rule) => {
    const points = [...area.value];
    return isInside(points, [...area.value.slice(0, area.selectionStart)].length, rule);
  };
  function speak() {
    typing = false;
    if (held.length) changed();
  }
  area.addEventListener("blur", speak);
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === area && held.length && !held.some((problem) => inside(problem.rule))) speak();
  });
  return {
    speak,
    /** A text arrived, by typing or otherwise. */
    typed(byHand) {
      typing = byHand && document.activeElement === area;
      held = []; // the rules have moved
    },
    /** The problems that are shown; the others are held back. */
    shown(problems) {
      held = typing ? problems.filter((problem) => problem.rule && inside(problem.rule)) : [];
      return problems.filter((problem) => !held.includes(problem));
    },
    get held() {
      return held.length;
    },
  };
}
