/* The stack of a machine as boxes, bottom below: what waits to be returned to, what is read on top;
   what a token puts on it and takes off it. */
"use strict";
wb.stack = (box) => {
  const { el } = wb;
  const MOST = 9; // boxes shown one by one; of more the middle is counted
  box.classList.add("stack");
  box.setAttribute("role", "group");
  let before = "";

  const chip = ({ rule, state }, kind, note) => el("li", { class: "frame " + kind, title: `${rule}, state ${state}`, "data-key": rule + state + kind },
    el("span", { class: "rule" }, rule || "regex"), el("span", { class: "at" }, note ?? `→ ${state}`));

  /** What a token does to a stack: what it leaves, what it takes off, what it puts on. */
  function edits(before, after) {
    const waiting = ({ boxes, depth }) => ({ all: boxes.slice(0, -1), hidden: depth + 1 - boxes.length });
    const old = waiting(before), now = waiting(after), kept = Math.max(0, (after.kept ?? 0) - old.hidden);
    return { same: old.all.slice(0, kept), off: old.all.slice(kept), on: now.all.slice(Math.max(0, after.kept - now.hidden)) };
  }

  function many(items, middle) {
    if (items.length <= MOST) return items;
    return [...items.slice(0, 2), el("li", { class: "frame more" }, `${middle(items.length - MOST)} more`), ...items.slice(items.length - MOST + 2)];
  }

  /** The stack at a token, with what the token does to it; at its end where the run goes on. */
  function show(step, atEnd = false) {
    const stacks = step?.path?.stacks;
    if (!stacks?.length) {
      box.replaceChildren(el("h3", {}, "Stack"), el("p", { class: "none" }, step ? "no rule is being read here" : "run a text, and its stack grows here"));
      box.setAttribute("aria-label", "Stack: nothing to show");
      before = "";
      return;
    }
    const [first, last = first] = stacks;
    const told = atEnd ? last : first;
    const waiting = told.boxes.slice(0, -1), top = told.boxes[told.boxes.length - 1];
    const change = atEnd || stacks.length < 2 ? { same: waiting, off: [], on: [] } : edits(first, last);
    const frames = [
      ...change.same.map((each) => chip(each, "")),
      ...change.off.map((each) => chip(each, "off", "− off")),
      ...change.on.map((each) => chip(each, "on", "+ on")),
    ];
    const list = el("ol", { reversed: true },
      chip(top, "top", `at ${top.state}`),
      ...many(frames.reverse(), (n) => n));
    const bottom = el("p", { class: "bottom" }, told.boxes.length < told.depth + 1 ? `${told.depth + 1 - told.boxes.length} more below` : waiting.length || change.on.length ? "bottom" : "nothing waits below");
    const ways = told.ways > 1 ? el("details", { class: "ways" },
      el("summary", {}, `${told.ways - 1} other way${told.ways === 2 ? "" : "s"}`),
      ...told.others.map((boxes) => el("p", {}, boxes.map((each) => `${each.rule} ${each.state}`).join(" ▸ "))),
      told.ways - 1 > told.others.length ? el("p", {}, `and ${told.ways - 1 - told.others.length} more`) : null) : null;
    const wasOpen = box.querySelector("details")?.open;
    box.replaceChildren(el("h3", {}, "Stack", el("b", {}, String(waiting.length))), list, bottom, ...(ways ? [ways] : []));
    if (ways && wasOpen) ways.open = true;
    // what is new slides in; what stays does not move
    const keys = [...list.children].map((each) => each.dataset.key);
    if (before) for (const each of list.children) if (!before.includes("|" + each.dataset.key + "|")) each.classList.add("fresh");
    before = "|" + keys.join("|") + "|";
    box.setAttribute("aria-label", `Stack, the bottom first: ${[...waiting, top].map((each) => each.rule).join(", ")}${change.off.length ? `; this token takes ${change.off.length} off` : ""}${change.on.length ? `; this token puts ${change.on.length} on` : ""}`);
  }
  show(null);
  return { show };
};
