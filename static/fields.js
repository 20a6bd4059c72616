/* The number fields of the run card. A value out of bounds is said under the row, below its field, and no run begins
   with it; until it is corrected, the last good value counts. */

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

/** The bounds of each field; `usual` is the value of an empty one, null for none. */
const FIELDS = {
  temperature: { at: "input.temperature", low: 0, high: 5, usual: 0.7 },
  seed: { at: "input.seed", low: 0, high: 2 ** 31 - 1, whole: true, usual: 1 },
  max_tokens: { at: "input.max", name: "at most", low: 1, high: 1024, whole: true, usual: 128 },
  budget: { at: ".thinking input.budget", name: "reasoning at most", low: 0, high: 1024, whole: true, usual: 64 },
  repetition_penalty: { at: "input.penalty", name: "repetition penalty", low: 0.1, high: 10, usual: null },
  top_k: { at: "input.topk", name: "top-k", low: 1, high: 1000000, whole: true, usual: null },
  top_p: { at: "input.topp", name: "top-p", low: 0.001, high: 1, usual: null },
  min_p: { at: "input.minp", name: "min-p", low: 0, high: 1, usual: null },
};

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

/** `changed()` is called when the message changes. */
export function createNumberFields(find, changed) {
  const box = find(".fieldfault"),
    inputs = Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, find(field.at)])),
    good = Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, field.usual]));
  let fault = "";

  /** Read a field: its number counts if it is one. */
  function read(name) {
    const field = FIELDS[name],
      input = inputs[name],
      wrong = faultOf(field, input);
    if (!wrong) good[name] = input.value.trim() ? Number(input.value) : field.usual;
    input.setAttribute("aria-invalid", String(Boolean(wrong)));
    return wrong;
  }
  function check() {
    const wrong = Object.keys(FIELDS).find((name) => read(name) && !inputs[name].closest("[hidden]"));
    const words = wrong ? `${FIELDS[wrong].name ?? wrong}: ${faultOf(FIELDS[wrong], inputs[wrong])}` : "";
    if (wrong) {
      const left =
        inputs[wrong].closest(".knob").getBoundingClientRect().left - box.parentElement.getBoundingClientRect().left;
      box.style.setProperty("--at", `${Math.max(0, left)}px`);
    }
    if (words === fault) return;
    fault = words;
    box.hidden = !words;
    box.replaceChildren(words ? el("span", {}, words) : "");
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
