/* The callout under the selected token, on the token's own line of the text: what the model preferred, what the grammar
   allowed, and why it forbids the preferred token. */

import { createLatest } from "./ask.js";
import { debounce, el } from "./dom.js";
import { cards, grammarKey, on, state } from "./state.js";
import { formatNumber, formatPercent, glyphs, hexOf, several } from "./tokens.js";
import { reasonLine, whyNodes } from "./why.js";
import { createWhyLight } from "./why-light.js";

/** @import { Ask } from "./ask.js" */
/** @import { Answer, Step, Token, Why } from "./wire" */

const code = (token) => el("code", glyphs(token));

/** Whether the grammar leaves no other text than this token: every allowed token is a beginning of it. */
function required({ allowed, may, token }) {
  const whole = hexOf(token) ?? "";
  return (
    may.length === allowed &&
    (token.end ? allowed === 1 : may.every((one) => !one.end && whole.startsWith(hexOf(one) ?? "")))
  );
}

/** The sentence about a step, as nodes. */
export function sentence(step) {
  const [best] = step.wanted,
    [rule, require, allow] =
      step.free === undefined
        ? [cards.run?.masked(0).masked ? "mask" : "grammar", "requires ", "allows "]
        : ["markers", "require ", "allow "];
  if (step.read === "refused")
    return [`the ${rule} refuses `, code(step.token), ` and allows ${several(step.allowed, "token")} here`];
  if (step.read === "alone")
    return ["after a refused token the model alone scores ", code(step.token), `: ${formatPercent(step.p)}`];
  if (step.cut && best)
    return ["the model preferred ", code(best), `; the ${rule} `, required(step) ? require : allow, code(step.token)];
  if (step.forced) return [`the ${rule} ${allow}`, code(step.token), " only"];
  return [
    code(step.token),
    step.rank === 1
      ? " was the model's first choice"
      : step.rank
        ? ` was the model's choice number ${formatNumber(step.rank)}`
        : "",
    `: ${formatPercent(step.p)}; ${formatNumber(step.allowed)} tokens are allowed here`,
  ];
}

/** The token whose reason is shown: the refused one of a text that is read, or the one that the model preferred. */
const forbidden = (step) => (step.read === "refused" ? step.token : step.cut ? step.wanted[0] : null);

/** Milliseconds on a token before its reason is requested: a reader who steps on does not need it. */
const RESTING = 120;
const NARROWER = "The grammar allows the forbidden token; the method of this run does not.";

/** @typedef {Answer<Why> & { allowed?: boolean }} Reason */

/** ``why(ask, index, candidate)`` requests the reason why a candidate is forbidden; null in a replay.
    @param {(selector: string) => HTMLElement} find
    @param {((ask: Ask, index: number, candidate: Token) => Promise<Reason | null>) | null} why */
export function createCallout(find, why) {
  const box = find(".callout"),
    bubble = box.querySelector(".bubble"),
    says = box.querySelector(".says"),
    because = box.querySelector(".because"),
    more = box.querySelector("button"),
    whole = box.querySelector(".whole"),
    strip = find(".strip");
  const latest = createLatest({ subject: () => state.steps[state.selected] }),
    light = createWhyLight();
  const selected = () => strip.querySelector(".tok[aria-selected='true']");
  let shown = /** @type {Step | null} */ (null),
    reason = /** @type {Reason | null} */ (null);

  /** Put the callout under the line of its token, and make room for it there. */
  function place() {
    const lines = shown && selected()?.getClientRects(),
      token = lines?.[lines.length - 1]; // none while another view is shown
    if (!token) return;
    const frame = strip.getBoundingClientRect(),
      middle = token.left + token.width / 2 - frame.left,
      space = strip.clientWidth - bubble.offsetWidth;
    const start = Math.max(0, Math.min(middle - 24, space));
    bubble.style.marginLeft = `${start}px`;
    bubble.style.setProperty("--arrow", `${Math.max(10, middle - start)}px`);
    strip.style.setProperty("--callout", `${box.offsetHeight}px`);
    box.style.top = `${token.bottom - frame.top + strip.scrollTop}px`;
  }
  function unfold(open) {
    if (!open) light.hide();
    whole.hidden = !open;
    more.setAttribute("aria-expanded", String(open));
    more.textContent = open ? "Hide" : "See why";
    if (open && reason) {
      whole.replaceChildren(whyNodes(reason));
      if (reason.ok && state.ran === grammarKey(state)) light.show(/** @type {Why} */ (reason));
    }
    place();
    if (open) bubble.scrollIntoView({ block: "nearest" });
  }
  function explain(record) {
    reason = record;
    const narrower = record?.allowed && cards.run?.masked(0).masked; // a method that forbids more than the grammar
    because.replaceChildren(...(narrower ? [NARROWER] : record ? reasonLine(record) : []));
    more.hidden = !record;
    place();
  }
  const request = debounce(RESTING, () => {
    const step = shown,
      index = step ? state.steps.indexOf(step) : -1, // −1 if another example was opened meanwhile
      token = step && index >= 0 ? forbidden(step) : null;
    if (!token) return;
    latest.run(async (ask) => {
      const record = await why?.(ask, index, token);
      if (record && step === shown) explain(record);
    });
  });
  function show(step) {
    if (step && step === shown && selected()) {
      place();
      return; // the same token of a grammar that is compiled again
    }
    latest.drop();
    shown = step?.wanted && selected() ? step : null;
    box.hidden = !shown;
    strip.classList.toggle("called", Boolean(shown));
    unfold(false);
    if (!shown) return;
    box.classList.toggle("cut", Boolean(forbidden(step)));
    says.replaceChildren(...sentence(step));
    explain(null);
    if (forbidden(step) && why) request();
  }
  more.addEventListener("click", () => unfold(whole.hidden));
  on("step", show);
  new ResizeObserver(place).observe(strip);
  show(null);
}
