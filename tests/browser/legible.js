/* Measures in the page how legible its picture is. Everything is read from the screen, nothing from the layout. */
(() => {
  const SMALLEST = 9, LONGEST = 28, ENOUGH = 3, SHARE = 0.6, CUT = 0.25, SLACK = 2.5;
  // a picture larger than its box is followed by the camera: the current state is in view with its neighbours
  /** Two frames, and until nothing moves any more. */
  async function frames() {
    await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
    await Promise.allSettled(document.querySelector("#wb-picture").getAnimations({ subtree: true }).filter((one) => one.effect.getComputedTiming().iterations === 1).map((one) => one.finished));
  }

  function measure() {
    const pic = document.querySelector("#wb-picture .pic.main"), frame = pic.getBoundingClientRect();
    const svg = pic.querySelector(".canvas svg:not(.leaving)");
    const says = pic.querySelector(".say:not([hidden])")?.textContent;
    if (!svg) return { none: Boolean(says), ok: false, why: [says || "no picture"] };
    const clip = (svg.style.clipPath.match(/inset\(([^)]*)\)/)?.[1] || "0 0 0 0").split(/\s+/).map(parseFloat);
    const seen = { left: frame.left, right: frame.right, top: frame.top + clip[0], bottom: frame.bottom - clip[2] };
    const meets = (r) => r.right > seen.left + 1 && r.left < seen.right - 1 && r.bottom > seen.top + 1 && r.top < seen.bottom - 1;
    const within = (r) => r.left >= seen.left - SLACK && r.right <= seen.right + SLACK && r.top >= seen.top - SLACK && r.bottom <= seen.bottom + SLACK;
    const scale = svg.getScreenCTM().a;
    const labels = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => {
      const r = text.getBoundingClientRect(), px = parseFloat(getComputedStyle(text).fontSize) * scale;
      // the glyphs fill the middle of the line box
      const trim = Math.max(0, (r.height - px) / 2);
      return { text: text.textContent, px, edge: Boolean(text.closest(".edge, .label")), flag: Boolean(text.closest(".flag")), left: r.left, right: r.right, top: r.top + trim, bottom: r.bottom - trim };
    }).filter((label) => label.right > label.left && meets(label));
    const why = [];
    const small = labels.filter((label) => label.px < SMALLEST - 0.01);
    if (small.length) why.push(`${small.length} labels of ${Math.min(...small.map((label) => label.px)).toFixed(1)} px`);
    const overlaps = [];
    labels.sort((a, b) => a.left - b.left);
    labels.forEach((one, i) => {
      for (const other of labels.slice(i + 1)) {
        if (other.left > one.right - SLACK) break;
        if (one.flag !== other.flag) continue; // a flag is opaque: it hides a label, and stays legible
        if (Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > SLACK && one.right - other.left > SLACK) overlaps.push(`${one.text} / ${other.text}`);
      }
    });
    if (overlaps.length) why.push(`${overlaps.length} overlaps: ${overlaps[0]}`);
    const cut = labels.filter((label) => !within(label));
    if (labels.length && cut.length > CUT * labels.length) why.push(`${cut.length} of ${labels.length} labels cut: ${cut[0].text}`);
    const long = labels.filter((label) => label.edge && [...label.text.replace(/[▲▼][\d–]+/g, "").trim()].length > LONGEST);
    if (long.length) why.push(`label of ${long[0].text.length}: ${long[0].text}`);
    const states = [...svg.querySelectorAll(".node")].filter((node) => node.matches(".calls") || !node.matches(".call"));
    const whole = states.filter((node) => within((node.querySelector("ellipse, circle, rect, polygon, path") || node).getBoundingClientRect()));
    if (states.length && whole.length < ENOUGH && whole.length < SHARE * states.length) why.push(`${whole.length} of ${states.length} states in view`);
    return { ok: !why.length, why, states: states.length, seen: whole.length, labels: labels.length, px: labels.length ? Math.min(...labels.map((label) => label.px)) : 0 };
  }

  const until = async (check, what) => {
    const end = performance.now() + 30000;
    while (!check()) { if (performance.now() > end) throw new Error("timed out: " + what); await new Promise((go) => setTimeout(go, 15)); }
  };

  let arrived = 0;
  wb.on("drawn", () => { arrived += 1; });
  /** Do something that draws, and measure what it drew. */
  async function after(act) {
    const before = arrived;
    act();
    await until(() => arrived > before, "a picture");
    await frames();
    return measure();
  }

  /** All pictures of a grammar as they open; those that are not legible again after one click. */
  window.legible = async (example, tabs) => {
    const button = (name) => document.querySelector(`#wb-picture [data-tab="${name}"]`);
    wb.emit("open", { title: example.name, prompt: "", tests: [], accepts: [], rejects: [], ...example });
    const text = example.text.trimEnd();
    await until(() => wb.state.compiled?.text?.trimEnd() === text && wb.state.compiled.notation === example.notation, "compiling " + example.name);
    if (!wb.state.compiled.ok) throw new Error(`${example.name}: ${JSON.stringify(wb.state.compiled.problems)}`);
    await until(() => wb.state.drawn?.text?.trimEnd() === text, "the first picture of " + example.name);
    const rows = [];
    for (const tab of tabs) {
      if (button(tab).disabled) continue;
      const opened = await after(() => button(tab).click());
      if (opened.none) continue; // too large to be drawn at all, and the page says so
      const row = { name: example.name, tab, ...opened, clicked: opened.ok };
      if (!opened.ok) {
        document.querySelector("#wb-picture [data-act=fit]").click();
        await frames();
        row.clicked = measure().ok;
        for (const level of document.querySelectorAll("#wb-picture .levels:not([hidden]) [data-level]")) if (!row.clicked) row.clicked = (await after(() => level.click())).ok;
        document.querySelector("#wb-picture .levels:not([hidden]) [data-level=states]")?.click();
      }
      rows.push(row);
    }
    return rows;
  };
})();
