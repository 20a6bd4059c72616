/* A search over the whole vocabulary: a typed text becomes rows of tokens, allowed or not, each with
   its probability before the mask and after it. Its maker hands in who finds and who takes. */

(() => {
  const { el } = wb;

  function tokenSearch(box, doors) {
    const input = el("input", {
      type: "text",
      role: "searchbox",
      placeholder: "search any token",
      "aria-label": "Search any token of the vocabulary",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      maxlength: "100",
    });
    const found = el("ul", { class: "cands hits", "aria-label": "Tokens found", hidden: true }),
      said = el("p", { class: "quiet hint", role: "status", hidden: true });
    box.append(
      el(
        "div",
        { class: "lookup", title: "\\n, \\t and <0xE2> are bytes, #12 is a token by its number, end is the end" },
        input,
      ),
      found,
      said,
    );
    let asked = 0,
      taken = null;

    const say = (text) => {
      said.textContent = text;
      said.hidden = !text;
    };
    function clear() {
      asked++;
      found.replaceChildren();
      found.hidden = true;
      say("");
    }

    async function look() {
      const query = input.value;
      if (!query) {
        clear();
        return;
      }
      const mine = ++asked;
      const answer = await doors.find(query);
      if (mine !== asked || !answer) return;
      if (answer.why || answer.fault) {
        clear();
        say(answer.why || answer.fault);
        return;
      }
      const scale = Math.max(...answer.found.map((candidate) => candidate.before), 0.001);
      found.replaceChildren(
        ...answer.found.map((candidate, i) => {
          const made = doors.row(candidate, "before", scale, {
            taken: candidate.id === taken,
            act: candidate.id === taken ? null : () => doors.choose(candidate),
            first: i === 0,
          });
          made.firstChild.title +=
            ` · rank ${wb.number(candidate.rank)}` +
            (candidate.rankm ? `, ${wb.number(candidate.rankm)} of the allowed` : "");
          return made;
        }),
      );
      found.hidden = !answer.found.length;
      say(
        answer.found.length
          ? answer.more
            ? `and ${wb.number(answer.more)} more; type more of it`
            : ""
          : "no token of this vocabulary holds that",
      );
      doors.explain(found, answer.found);
    }
    const soon = wb.debounce(120, look);

    input.addEventListener("input", () => soon());
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && input.value) {
        event.stopPropagation();
        input.value = "";
        clear();
      }
      if (event.key === "ArrowDown" && !found.hidden) {
        event.preventDefault();
        event.stopPropagation();
        found.querySelector("button")?.focus();
      }
      if (event.key === "Enter") {
        event.preventDefault();
        found.querySelector("button:not(.x)")?.click();
      }
    });
    found.addEventListener("keydown", (event) => {
      const items = [...found.querySelectorAll("button")],
        at = items.indexOf(document.activeElement);
      if (event.key === "ArrowUp" && at === 0) {
        event.preventDefault();
        event.stopPropagation();
        input.focus();
        return;
      }
      const next = items[at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0)];
      if (at < 0 || !next || next === items[at]) return;
      event.preventDefault();
      event.stopPropagation();
      next.focus();
    });

    return {
      /** Another token is looked at: what was typed is looked up again there. */
      moved(record) {
        taken = record.id ?? null;
        if (input.value) soon();
      },
      focus: () => {
        input.focus();
        input.select();
      },
    };
  }

  wb.tokenSearch = tokenSearch;
})();
