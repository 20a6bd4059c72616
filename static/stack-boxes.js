/* The stack as boxes, its bottom below: the states to which waiting rules return, the current rule on top, and what a
   token pushes and pops. */

import { el } from "./dom.js";

/** ``before``: the keys of the boxes that were shown last. @typedef {{ before: string, box: HTMLElement }} StackBox */

const MOST_BOXES = 9;

const chipOf = ({ rule, state, number }, kind, note) =>
  el(
    "li",
    {
      class: `frame ${kind}`,
      title: `${rule}, continues in state ${number ?? state}`,
      "data-key": rule + state + kind,
    },
    el("span.rule", rule || "regex"),
    el("span.at", note ?? `▼${number ?? state}`),
  );

/** What a token does to a stack: what it leaves, what it takes off, what it puts on. */
function editsOf(before, after) {
  const waiting = ({ boxes, depth }) => ({ all: boxes.slice(0, -1), hidden: depth + 1 - boxes.length });
  const old = waiting(before),
    now = waiting(after),
    kept = Math.max(0, (after.kept ?? 0) - old.hidden);
  return {
    same: old.all.slice(0, kept),
    off: old.all.slice(kept),
    on: now.all.slice(Math.max(0, after.kept - now.hidden)),
  };
}

/** Of many boxes those at both ends. @param {HTMLElement[]} boxes */
function shortened(boxes) {
  const excess = boxes.length - MOST_BOXES;
  if (excess <= 0) return boxes;
  return [...boxes.slice(0, 2), el("li.frame.more", `${excess} more`), ...boxes.slice(excess + 2)];
}

/** The stack at a token, with what the token does to it; at its end where the run continues. Returns whether there is
      one. @param {StackBox} card */
function showStack(card, step, atEnd = false) {
  const stacks = step?.path?.stacks;
  if (!stacks?.length) {
    card.box.replaceChildren();
    card.before = "";
    return false;
  }
  const [first, last = first] = stacks;
  const stack = atEnd ? last : first;
  const waiting = stack.boxes.slice(0, -1),
    top = stack.boxes[stack.boxes.length - 1];
  const change = atEnd || stacks.length < 2 ? { same: waiting, off: [], on: [] } : editsOf(first, last);
  const frames = [
    ...change.same.map((each) => chipOf(each, "")),
    ...change.off.map((each) => chipOf(each, "off", "popped")),
    ...change.on.map((each) => chipOf(each, "on", "▲ pushed")),
  ];
  const list = el(
    "ol",
    { reversed: true },
    chipOf(top, "top", `in ${top.number ?? top.state}`),
    ...shortened(frames.reverse()),
  );
  const bottom = el(
    "p.bottom",
    stack.boxes.length < stack.depth + 1
      ? `${stack.depth + 1 - stack.boxes.length} more below`
      : waiting.length || change.on.length
        ? "bottom of the stack"
        : "stack is empty",
  );
  const ways =
    stack.ways > 1
      ? el(
          "details.ways",
          el("summary", `${stack.ways - 1} other way${stack.ways === 2 ? "" : "s"} to read it`),
          ...stack.others.map((boxes) =>
            el("p", boxes.map((each) => `${each.rule} ${each.number ?? each.state}`).join(" ▸ ")),
          ),
          stack.ways - 1 > stack.others.length ? el("p", `and ${stack.ways - 1 - stack.others.length} more`) : null,
        )
      : null;
  const wasOpen = card.box.querySelector("details")?.open;
  card.box.replaceChildren(el("h3", "Stack", el("b", String(waiting.length))), list, bottom, ...(ways ? [ways] : []));
  if (ways && wasOpen) ways.open = true;
  // what is new slides in; what stays does not move
  const items = list.querySelectorAll("li"),
    keys = [...items].map((each) => each.dataset.key);
  if (card.before)
    for (const each of items) if (!card.before.includes(`|${each.dataset.key}|`)) each.classList.add("fresh");
  card.before = `|${keys.join("|")}|`;
  card.box.setAttribute(
    "aria-label",
    "Stack, the bottom first: " +
      [...waiting, top].map((each) => each.rule).join(", ") +
      (change.off.length ? `; this token pops ${change.off.length}` : "") +
      (change.on.length ? `; this token pushes ${change.on.length}` : ""),
  );
  return true;
}

/** @param {HTMLElement} box */
export function createStack(box) {
  box.classList.add("stack");
  box.setAttribute("role", "group");
  /** @type {StackBox} */
  const card = { before: "", box };
  showStack(card, null);
  return { show: (step, atEnd) => showStack(card, step, atEnd) };
}
