/* The token strip and the chart above it: tokens come in one at a time, one of them is selected. */
(() => {
  "use strict";
  const { el } = wb;
  const BIN_PX = 7; // pixels of the chart a bit; 8 bits fill the upper part, 4 the lower

  const bin = (bits) => (bits === null ? 7 : Math.min(7, Math.floor(bits)));

  function strip(tokens, chart, select) {
    let selected = -1;

    function add(step, index) {
      const token = el("span", { class: "tok b" + bin(step.s) + (step.forced ? " fr" : "") + (step.cut ? " cut" : ""), role: "option", "aria-selected": "false", tabindex: index === 0 ? "0" : "-1", "data-i": String(index) });
      token.append(wb.tokenNodes(step.token));
      token.setAttribute("aria-label", `token ${index + 1}: ${wb.glyphs(step.token)}, ${wb.bits(step.s)} bits` + (step.forced ? ", the only one allowed" : "") + (step.cut ? ", the model wanted another" : ""));
      tokens.append(token);
      const bar = el("div", { "data-i": String(index), title: `${wb.glyphs(step.token)} · surprisal ${wb.bits(step.s)} bits · mask ${wb.bits(step.m)} bits` });
      const over = el("u"), under = el("s");
      over.style.height = Math.min(56, Math.max(1, (step.s ?? 8) * BIN_PX)) + "px";
      under.style.height = Math.min(28, (step.m ?? 4) * BIN_PX) + "px";
      bar.append(over, under);
      chart.append(bar);
      chart.style.maxWidth = chart.children.length * 61 + "px";
      if (index === 100) chart.classList.add("many");
    }

    function clear(keep) {
      while (tokens.children.length > keep) tokens.lastElementChild.remove();
      while (chart.children.length > keep) chart.lastElementChild.remove();
      if (keep < 100) chart.classList.remove("many");
      mark(-1, false);
    }

    function mark(index, focus) {
      const old = tokens.children[selected];
      old?.setAttribute("aria-selected", "false");
      if (old) old.tabIndex = -1;
      chart.children[selected]?.classList.remove("on");
      selected = index;
      const now = tokens.children[index];
      (now || tokens.firstElementChild)?.setAttribute("tabindex", "0");
      if (!now) return;
      now.setAttribute("aria-selected", "true");
      chart.children[index]?.classList.add("on");
      if (focus) now.focus({ preventScroll: false });
    }

    const at = (event) => event.target.closest("[data-i]");
    for (const box of [tokens, chart]) box.addEventListener("click", (event) => { const hit = at(event); if (hit) select(Number(hit.dataset.i), box === tokens); });
    tokens.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const last = tokens.children.length - 1;
      const here = selected >= 0 ? selected : Number(at(event)?.dataset.i ?? 0);
      const ringed = (by) => { for (let i = here + by; i >= 0 && i <= last; i += by) if (tokens.children[i].classList.contains("cut")) return i; return here; };
      const next = { ArrowRight: Math.min(last, selected < 0 ? 0 : here + 1), ArrowLeft: Math.max(0, here - 1), Home: 0, End: last, "]": ringed(1), "[": ringed(-1), Enter: here, " ": here }[event.key];
      if (next === undefined || last < 0) return;
      event.preventDefault();
      select(next, true);
    });
    return { add, clear, mark };
  }

  wb.strip = strip;
})();
