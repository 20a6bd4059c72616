/* The stack of a machine as boxes, bottom below: the states to which waiting rules return, the current rule on top;
   what a token pushes and pops. */

wb.stack = (box) => {
  const { el } = wb;
  const MOST = 9; // boxes shown one by one; of more the middle is counted
  box.classList.add("stack");
  box.setAttribute("role", "group");
  let before = "";

  const chip = ({ rule, state, number }, kind, note) =>
    el(
      "li",
      {
        class: `frame ${kind}`,
        title: `${rule}, continues in state ${number ?? state}`,
        "data-key": rule + state + kind,
      },
      el("span", { class: "rule" }, rule || "regex"),
      el("span", { class: "at" }, note ?? `▼${number ?? state}`),
    );

  /** What a token does to a stack: what it leaves, what it takes off, what it puts on. */
  function edits(before, after) {
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

  function many(items, middle) {
    if (items.length <= MOST) return items;
    return [
      ...items.slice(0, 2),
      el("li", { class: "frame more" }, `${middle(items.length - MOST)} more`),
      ...items.slice(items.length - MOST + 2),
    ];
  }

  /** The stack at a token, with what the token does to it; at its end where the run goes on. Returns whether there is one. */
  function show(step, atEnd = false) {
    const stacks = step?.path?.stacks;
    if (!stacks?.length) {
      box.replaceChildren();
      before = "";
      return false;
    }
    const [first, last = first] = stacks;
    const told = atEnd ? last : first;
    const waiting = told.boxes.slice(0, -1),
      top = told.boxes[told.boxes.length - 1];
    const change = atEnd || stacks.length < 2 ? { same: waiting, off: [], on: [] } : edits(first, last);
    const frames = [
      ...change.same.map((each) => chip(each, "")),
      ...change.off.map((each) => chip(each, "off", "popped")),
      ...change.on.map((each) => chip(each, "on", "▲ pushed")),
    ];
    const list = el(
      "ol",
      { reversed: true },
      chip(top, "top", `in ${top.number ?? top.state}`),
      ...many(frames.reverse(), (n) => n),
    );
    const bottom = el(
      "p",
      { class: "bottom" },
      told.boxes.length < told.depth + 1
        ? `${told.depth + 1 - told.boxes.length} more below`
        : waiting.length || change.on.length
          ? "bottom of the stack"
          : "stack is empty",
    );
    const ways =
      told.ways > 1
        ? el(
            "details",
            { class: "ways" },
            el("summary", {}, `${told.ways - 1} other way${told.ways === 2 ? "" : "s"} to read it`),
            ...told.others.map((boxes) =>
              el("p", {}, boxes.map((each) => `${each.rule} ${each.number ?? each.state}`).join(" ▸ ")),
            ),
            told.ways - 1 > told.others.length ? el("p", {}, `and ${told.ways - 1 - told.others.length} more`) : null,
          )
        : null;
    const wasOpen = box.querySelector("details")?.open;
    box.replaceChildren(
      el("h3", {}, "Stack", el("b", {}, String(waiting.length))),
      list,
      bottom,
      ...(ways ? [ways] : []),
    );
    if (ways && wasOpen) ways.open = true;
    // what is new slides in; what stays does not move
    const keys = [...list.children].map((each) => each.dataset.key);
    if (before)
      for (const each of list.children) if (!before.includes(`|${each.dataset.key}|`)) each.classList.add("fresh");
    before = `|${keys.join("|")}|`;
    box.setAttribute(
      "aria-label",
      `Stack, the bottom first: ${[...waiting, top].map((each) => each.rule).join(", ")}${change.off.length ? `; this token pops ${change.off.length}` : ""}${change.on.length ? `; this token pushes ${change.on.length}` : ""}`,
    );
    return true;
  }
  show(null);
  return { show };
};
