/* The editor: a plain text area over a coloured copy of its text. The area keeps what browsers do well
   (typing, undo, input methods, screen readers); the copy carries colours, line numbers and squiggles. */
(() => {
  "use strict";
  const { el } = wb;

  // Python counts code points, the text area counts UTF-16 units
  const unitsOf = (text, points) => {
    let units = 0;
    for (const character of text) { if (points-- <= 0) break; units += character.length; }
    return units;
  };

  function editor(box, changed) {
    const area = box.querySelector("textarea.text");
    const paint = box.querySelector(".paint");
    let problems = [];
    let live = new Set();
    let notation = "regex";

    /** Cut coloured pieces at line breaks and at the edges of problems, then lay them down line by line. */
    function draw() {
      const text = area.value;
      const marks = problems.map((p) => ({ ...p, from: unitsOf(text, p.start), to: Math.max(unitsOf(text, p.start), unitsOf(text, p.end)) }));
      const cuts = new Set(marks.flatMap((m) => [m.from, m.to]));
      const lines = [el("span", { class: "l" })];
      let at = 0;
      const mark = (from) => marks.find((m) => m.from <= from && from < m.to);
      const put = (piece, name) => {
        const hit = mark(at);
        const classes = [name, hit ? "squig " + hit.severity : ""].filter(Boolean).join(" ");
        lines[lines.length - 1].append(classes ? el("span", { class: classes }, piece) : piece);
        at += piece.length;
      };
      const empties = () => { for (const m of marks) if (m.from === m.to && m.from === at) lines[lines.length - 1].append(el("span", { class: "squig void " + m.severity })); };
      empties();
      for (const [piece, name] of wb.colour(text, notation)) {
        let rest = piece;
        while (rest) {
          let size = rest.indexOf("\n");
          if (size === 0) { at += 1; rest = rest.slice(1); lines.push(el("span", { class: "l" })); empties(); continue; }
          if (size < 0) size = rest.length;
          for (let i = 1; i < size; i++) if (cuts.has(at + i)) { size = i; break; }
          put(rest.slice(0, size), name);
          rest = rest.slice(size);
          empties();
        }
      }
      for (const line of lines) {
        const rule = line.querySelector(".rule");
        if (notation === "kbnf" && rule && live.has(rule.textContent)) line.classList.add("live");
      }
      paint.replaceChildren(...lines);
    }

    area.addEventListener("input", () => { problems = []; live = new Set(); draw(); changed(area.value); });
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      area.blur(); // so that Tab and the page's own keys work from here
    });

    return {
      area,
      /** Another text as if it had been typed: the browser's undo still knows the one before. */
      replace(text) {
        area.focus();
        area.select();
        if (!document.execCommand("insertText", false, text)) { area.value = text; area.dispatchEvent(new Event("input")); }
      },
      set(text, kind) { area.value = text; notation = kind; problems = []; live = new Set(); draw(); },
      notation(kind) { notation = kind; draw(); },
      problems(list) { problems = list; draw(); },
      live(names) { const next = new Set(names); if ([...next].join() !== [...live].join()) { live = next; draw(); } },
      jump(problem) {
        const from = unitsOf(area.value, problem.start);
        area.focus();
        area.setSelectionRange(from, unitsOf(area.value, problem.end));
        const place = paint.querySelector(".squig");
        place?.scrollIntoView({ block: "nearest" });
      },
    };
  }

  wb.editor = editor;
})();
