/* The number fields of a view that runs. A value out of bounds is said under the row, below its field, and no run
   begins with it; until it is corrected, the last good value counts. */

import { el } from "./dom.js";
import { formatNumber } from "./tokens.js";

/** A row of settings that a tick opens; returns a function that shows or hides it as the tick is.
    @param {HTMLInputElement} tick @param {HTMLElement} row @param {{ check: () => void }} fields */
export function createTickedRow(tick, row, fields) {
  const show = () => {
    row.hidden = !tick.checked;
    fields.check(); // a hidden field has no fault
  };
  tick.addEventListener("change", show);
  return show;
}

/** @typedef {{ at: string, name?: string, low: number, high: number, whole?: boolean, usual: number | null }} Field
    The bounds of a field; `usual` is the value of an empty one, null for none. */

/** The field of the temperature. @type {Field} */
export const TEMPERATURE = { at: "input.temperature", low: 0, high: 5, usual: 0.7 };

/** What is wrong with the text of a field; empty if nothing is. */
function faultOf(field, input) {
  const text = input.value.trim(),
    number = Number(text);
  if (!text && !input.validity.badInput) return "";
  const kept = text && number >= field.low && number <= field.high && (!field.whole || Number.isInteger(number));
  if (kept) return "";
  const kind = field.whole ? "a whole number" : "a number";
  const range = `${formatNumber(field.low)} to ${formatNumber(field.high)}`;
  return `expected ${kind} from ${range}${text ? `, not ${text}` : ""}`;
}

/** `changed()` is called when the message changes. @param {Record<string, Field>} bounds */
export function createNumberFields(find, bounds, changed) {
  const box = find(".fieldfault"),
    inputs = Object.fromEntries(Object.entries(bounds).map(([name, field]) => [name, find(field.at)])),
    good = Object.fromEntries(Object.entries(bounds).map(([name, field]) => [name, field.usual]));
  let fault = "";

  /** Read a field: its number counts if it is one. */
  function read(name) {
    const field = bounds[name],
      input = inputs[name],
      wrong = faultOf(field, input);
    if (!wrong) good[name] = input.value.trim() ? Number(input.value) : field.usual;
    input.setAttribute("aria-invalid", String(Boolean(wrong)));
    return wrong;
  }
  function check() {
    const wrong = Object.keys(bounds).find((name) => read(name) && !inputs[name].closest("[hidden]"));
    const words = wrong ? `${bounds[wrong].name ?? wrong}: ${faultOf(bounds[wrong], inputs[wrong])}` : "";
    if (wrong) {
      const left =
        inputs[wrong].closest(".knob").getBoundingClientRect().left - box.parentElement.getBoundingClientRect().left;
      box.style.setProperty("--at", `${Math.max(0, left)}px`);
    }
    if (words === fault) return;
    fault = words;
    box.hidden = !words;
    box.replaceChildren(words ? el("span", words) : "");
    changed();
  }
  for (const input of Object.values(inputs)) input.addEventListener("input", check);

  return {
    /** The last good value; null for an empty field without a usual value. */
    value: (name) => good[name],
    fault: () => fault,
    /** Write values into their fields; others stay. */
    set(values) {
      for (const [name, input] of Object.entries(inputs)) {
        if (!(name in values)) continue;
        input.value = values[name] === null ? "" : String(values[name]);
      }
      check();
    },
    check,
  };
}
