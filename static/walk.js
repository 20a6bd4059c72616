/* Walking through a run: first, previous, play, next, last. Its maker says where it stands and how to go there. */

(() => {
  const { el } = wb;
  const ICONS = {
    first: "M3 3v10M13 3 6 8l7 5z",
    previous: "M11 3 4 8l7 5z",
    play: "M5 3l8 5-8 5z",
    pause: "M5 3v10M11 3v10",
    next: "M5 3l7 5-7 5z",
    last: "M13 3v10M3 3l7 5-7 5z",
  };
  const SLOWEST = 520,
    FASTEST = 140,
    WHOLE = 15000; // milliseconds a token, and for a whole run

  function icon(name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"),
      path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("width", "13");
    svg.setAttribute("height", "13");
    path.setAttribute("d", ICONS[name]);
    path.setAttribute("fill", name === "pause" ? "none" : "currentColor");
    path.setAttribute("stroke", "currentColor");
    path.setAttribute("stroke-width", "1.8");
    path.setAttribute("stroke-linejoin", "round");
    svg.append(path);
    return svg;
  }

  /** `doors.count()`, `doors.at()` (−1 for none) and `doors.go(index)`. */
  function walk(box, doors) {
    const reduced = matchMedia("(prefers-reduced-motion: reduce)");
    let timer = 0;
    const make = (name, title, act) =>
      el(
        "button",
        {
          type: "button",
          class: "icon",
          tabindex: name === "play" ? "0" : "-1",
          "aria-label": title,
          title,
          onclick: act,
        },
        icon(name),
      );
    const buttons = {
      first: make("first", "First token", () => go(0)),
      previous: make("previous", "Previous token", () => go(Math.max(0, doors.at() - 1))),
      play: make("play", "Play the run (P)", () => toggle()),
      next: make("next", "Next token", () => go(doors.at() + 1)),
      last: make("last", "Last token", () => go(doors.count() - 1)),
    };
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Walk through the run");
    box.replaceChildren(...Object.values(buttons));
    wb.roving(box, (button) => {
      for (const each of Object.values(buttons)) each.tabIndex = each === button ? 0 : -1;
    });

    function go(index) {
      halt();
      if (index >= 0 && index < doors.count()) doors.go(index);
    }
    function say(playing) {
      buttons.play.replaceChildren(icon(playing ? "pause" : "play"));
      buttons.play.setAttribute("aria-label", playing ? "Pause" : "Play the run (P)");
      buttons.play.setAttribute("aria-pressed", String(playing));
    }
    function halt() {
      if (!timer) return;
      clearTimeout(timer);
      timer = 0;
      say(false);
    }
    function turn() {
      const next = doors.at() + 1;
      if (next >= doors.count()) {
        halt();
        return;
      }
      doors.go(next);
      // whoever asked for less motion gets the same walk, slowly
      timer = setTimeout(turn, reduced.matches ? 1200 : Math.max(FASTEST, Math.min(SLOWEST, WHOLE / doors.count())));
    }
    function toggle() {
      if (timer) {
        halt();
        return;
      }
      if (!doors.count()) return;
      say(true);
      if (doors.at() < 0 || doors.at() >= doors.count() - 1) doors.go(0);
      timer = setTimeout(turn, SLOWEST);
    }
    document.addEventListener("visibilitychange", halt);

    return {
      toggle,
      halt,
      draw() {
        // at either end too they stay: a button that is focused must not vanish from under a finger
        for (const button of Object.values(buttons)) button.disabled = !doors.count();
      },
    };
  }

  wb.walk = walk;
})();
