/* A machine as a table, for machines too large to draw and for who cannot see them: which machine,
   a filter, the rows where the run stands. */

wb.rows = (box, { choose, place }) => {
  const { el, state } = wb;
  const NAMES = { characters: "Characters", tokens: "Tokens", stack: "Stack machine", rules: "Rules" };
  const which = el("div", { class: "seg which", role: "radiogroup", "aria-label": "Machine in the table" });
  const filter = el("input", {
    type: "search",
    class: "filter",
    placeholder: "Filter rows",
    "aria-label": "Filter rows of the table",
    spellcheck: "false",
  });
  const told = el("span", { class: "told", role: "status" });
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The machine as a table" });
  box.append(el("div", { class: "tools" }, which, filter, told), scroll);
  let answer = null,
    standing = [];

  wb.radios(which, "data-of", Object.entries(NAMES), choose);

  function fill() {
    const wanted = filter.value.trim().toLowerCase();
    const rows = answer.rows.filter(
      (row) => !wanted || row.slice(2).some((cell) => cell.toLowerCase().includes(wanted)),
    );
    const body = el(
      "tbody",
      {},
      ...rows.map((row) =>
        el("tr", { "data-state": row[0], "data-target": row[1] }, ...row.slice(2).map((cell) => el("td", {}, cell))),
      ),
    );
    scroll.replaceChildren(
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...answer.heads.map((head) => el("th", { scope: "col" }, head)))),
        body,
      ),
    );
    if (!rows.length) scroll.append(el("p", { class: "none" }, "no row holds that"));
    told.textContent =
      (wanted ? `${wb.number(rows.length)} of ${wb.number(answer.rows.length)} rows · ` : "") + answer.count;
    mark(false);
  }
  filter.addEventListener("input", () => {
    if (answer) fill();
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && filter.value) {
      event.stopPropagation();
      filter.value = "";
      fill();
    }
  });
  scroll.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-state]");
    if (row) place(row.dataset.state);
  });

  function mark(scrolls) {
    for (const row of scroll.querySelectorAll("tr.now, tr.taken")) row.classList.remove("now", "taken");
    const [here, path] = standing;
    if (!here?.length) return;
    const pairs = new Set(path.slice(1).map((moment, i) => `${path[i][0]}>${moment[0]}`));
    let first = null;
    for (const row of scroll.querySelectorAll("tbody tr")) {
      const taken = pairs.has(`${row.dataset.state}>${row.dataset.target}`);
      const now = here.includes(row.dataset.state);
      row.classList.toggle("now", now);
      row.classList.toggle("taken", taken);
      if (taken || (now && !first)) first = first?.classList.contains("taken") ? first : row;
    }
    if (scrolls && first) {
      const head = scroll.querySelector("thead")?.offsetHeight || 0;
      const top = first.offsetTop - head,
        bottom = first.offsetTop + first.offsetHeight;
      if (top < scroll.scrollTop || bottom > scroll.scrollTop + scroll.clientHeight)
        scroll.scrollTop = Math.max(0, top - scroll.clientHeight / 3);
    }
  }

  return {
    show(next, of) {
      answer = next;
      for (const button of which.querySelectorAll("button")) {
        const why = state.compiled?.tabs?.[button.dataset.of] || "";
        button.disabled = Boolean(why);
        button.title = why;
      }
      wb.choose(which, "aria-checked", which.querySelector(`[data-of="${of}"]`));
      if (!next.ok) {
        scroll.replaceChildren(el("p", { class: "none" }, next.why));
        told.textContent = "";
        answer = null;
        return;
      }
      fill();
    },
    /** Mark the rows where the run stands, and those it takes. */
    go(step, atEnd) {
      if (!answer) return null;
      const { standing: here, path } = wb.passed(answer, step, atEnd);
      standing = [here, path];
      mark(true);
      return here[0];
    },
    holds: (id) => Boolean(answer?.rows.some((row) => row[0] === id)),
  };
};
