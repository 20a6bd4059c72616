/* Strips of tokens, which show where a text leaves another one and how it continues. */

import { el } from "./dom.js";
import { formatBits, formatNumber, glyphs, tokenBytes, tokenNodes } from "./tokens.js";

const LEFT = 18; // characters shown of what two texts share

const spoken = (run) => run.steps.filter((step) => !step.end);
/** A text, a letter for every byte: what can be compared place by place. */
const letters = (step) => String.fromCharCode(...tokenBytes(step));
const written = (run) => spoken(run).map(letters).join("");

/** Where a run leaves another: `index` of its token, `at` the byte, `kind` "text" or, where only the cuts between
      tokens differ, "tokens"; kind "" while, or because, nothing differs. */
function parting(run, other) {
  const mine = written(run),
    theirs = written(other),
    over = run.end && other.end;
  let at = 0;
  while (at < mine.length && at < theirs.length && mine[at] === theirs[at]) at++;
  const same = at === mine.length && at === theirs.length;
  // one of the two may only be shorter as yet
  const kind = same ? "" : at < mine.length && at < theirs.length ? "text" : over ? "text" : "";
  if (kind) return { kind, at, index: tokenAt(run, at), instead: spoken(other)[tokenAt(other, at)] };
  const index = spoken(run).findIndex((step, i) => i < spoken(other).length && step.id !== spoken(other)[i].id);
  return index < 0
    ? { kind: "", at, index: spoken(run).length }
    : { kind: "tokens", at, index, instead: spoken(other)[index] };
}
/** The token that holds a byte. */
function tokenAt(run, at) {
  const steps = spoken(run);
  let passed = 0,
    index = 0;
  while (index < steps.length && passed + letters(steps[index]).length <= at) passed += letters(steps[index++]).length;
  return index;
}

const bin = (step) => (step.s === null ? (step.skipped ? 0 : 7) : Math.min(7, Math.floor(step.s)));
const words = (step) =>
  [
    glyphs(step),
    step.s === null
      ? step.skipped
        ? "the model was not asked"
        : "surprisal ∞"
      : `surprisal ${formatBits(step.s)} bits`,
    step.m ? `bits removed by the mask: ${formatBits(step.m)}` : "",
    step.forced ? "the only token allowed" : "",
    step.cut ? "model preferred a different token" : "",
    step.skipped ? "no separate model call" : "",
  ]
    .filter(Boolean)
    .join(" · ");

function token(step) {
  const made = el("span", {
    class: `tok b${bin(step)}${step.forced ? " fr" : ""}${step.cut ? " cut" : ""}${step.skipped ? " sk" : ""}`,
    title: words(step),
  });
  made.append(tokenNodes(step));
  for (const line of made.querySelectorAll(".nl")) line.textContent = ""; // its sign stays, the line goes on
  return made;
}

/** The sign where a run leaves another, with what the other has there. */
function sign(found, name) {
  const there = found.instead && !found.instead.end ? glyphs(found.instead) : "end";
  const says =
    found.kind === "tokens"
      ? `same text as ${name}, different tokens from here on: it has ${there} here`
      : `differs from ${name} from here on: it has ${there} here`;
  return el(
    "span",
    { class: `part ${found.kind}`, title: says, role: "img", "aria-label": says },
    found.kind === "tokens" ? "≈" : "≠",
    el("s", { "aria-hidden": "true" }, there),
  );
}

/** The end of what two texts share, as many letters as all rows have in common. */
function tail(steps) {
  const shown = [];
  let room = LEFT;
  for (let i = steps.length - 1; i >= 0 && room > 0; i--) {
    shown.unshift(steps[i]);
    room -= glyphs(steps[i]).length;
  }
  return { shown, hidden: steps.length - shown.length };
}

/** Draw a run. `other` is the run it is set against (null for none), `aligned` whether what they share is shortened
      so that the strips of all rows part at the same place. */
export function drawStrip(box, run, other, name, aligned) {
  const steps = run.steps,
    found = other && other !== run ? parting(run, other) : null;
  box.classList.toggle("aligned", Boolean(aligned && found));
  if (!found) {
    box.replaceChildren(...steps.map(token));
    return;
  }
  if (!aligned) {
    const parts = steps.map(token);
    if (found.kind) parts.splice(found.index, 0, sign(found, name));
    box.replaceChildren(...parts);
  } else {
    const cut = found.kind ? found.index : spoken(run).length,
      { shown, hidden } = tail(steps.slice(0, cut));
    const shared = el(
      "span.shared",
      { title: `${formatNumber(cut)} tokens as ${name}` },
      el("span", hidden ? el("span.quiet", "… ") : null, ...shown.map(token)),
    );
    box.replaceChildren(shared, el("span.rest", found.kind ? sign(found, name) : null, ...steps.slice(cut).map(token)));
  }
}

/** In words that two runs that are over took the same tokens; nothing where they did not. */
export function sameTokens(run, other, name) {
  if (!run.end || !other?.end) return "";
  const mine = spoken(run),
    theirs = spoken(other);
  if (mine.length !== theirs.length || mine.some((step, i) => step.id !== theirs[i].id)) return "";
  return mine.length === 1 ? `the same token as ${name}` : `the same ${formatNumber(mine.length)} tokens as ${name}`;
}
