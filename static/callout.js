/* The line under the token strip: what the model preferred at the selected token, and what the grammar allowed. */

(() => {
  const { el } = wb;
  const code = (token) => el("code", {}, wb.glyphs(token));

  /** Whether the grammar leaves no other text than this token: every allowed token is a beginning of it. */
  function required({ allowed, may, token }) {
    const whole = wb.hexOf(token);
    return (
      may.length === allowed &&
      (token.end ? allowed === 1 : may.every((one) => !one.end && whole.startsWith(wb.hexOf(one))))
    );
  }

  /** The sentence about a step, as nodes. */
  function sentence(step) {
    const [best] = step.wanted;
    if (step.cut && best)
      return [
        "the model preferred ",
        code(best),
        "; the grammar ",
        required(step) ? "requires " : "allows ",
        code(step.token),
      ];
    if (step.forced) return ["the grammar allows ", code(step.token), " only"];
    return [
      code(step.token),
      step.rank === 1
        ? " was the model's first choice"
        : step.rank
          ? ` was the model's choice number ${wb.number(step.rank)}`
          : "",
      `: ${wb.percent(step.p)}; ${wb.number(step.allowed)} tokens are allowed here`,
    ];
  }

  wb.callout = (find) => {
    const line = find(".callout"),
      says = line.querySelector(".says"),
      why = line.querySelector("button"),
      strip = find(".strip"),
      inspector = find(".insp");
    const selected = () => strip.querySelector(".tok[aria-selected='true']");
    let shown = null;

    /** Put the line, and the arrow on it, under the selected token. */
    function point() {
      const first = selected()?.getClientRects()[0]; // none while another view is shown
      if (!shown || !first) return;
      const from = line.getBoundingClientRect().left + 14;
      const middle = first.left + first.width / 2 - from,
        room = line.clientWidth - 28 - says.parentElement.offsetWidth;
      const start = Math.max(0, Math.min(middle - 24, room));
      says.parentElement.style.marginLeft = `${start}px`;
      line.style.setProperty("--arrow", `${Math.max(10, middle - start)}px`);
    }
    function show(step) {
      shown = step?.wanted && selected() ? step : null;
      line.style.visibility = shown ? "" : "hidden"; // it keeps its height, so that nothing below it moves
      if (!shown) return;
      line.classList.toggle("cut", Boolean(step.cut));
      says.replaceChildren(...sentence(step));
      why.textContent = step.cut ? "See why" : "Details";
      point();
    }
    why.addEventListener("click", () => {
      if (shown.cut && find(".whybox").hidden) find(".wanted button.cand.x")?.click();
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      scrollTo({ top: strip.getBoundingClientRect().top + scrollY - 12, behavior: calm ? "auto" : "smooth" });
      inspector.querySelector("button")?.focus({ preventScroll: true });
    });
    wb.on("step", show);
    new ResizeObserver(point).observe(strip);
    strip.addEventListener("scroll", point, { passive: true });
    show(null);
  };
})();
