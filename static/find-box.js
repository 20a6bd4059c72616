/* A search for a state by number, rule or label: the results are a list for the keyboard; choosing one draws the
   part of the machine around it. */

import { createLatest } from "./ask.js";
import { debounce, el, useUp } from "./dom.js";

/** @import { FoundState } from "./wire" */

/** @typedef {{
      input: HTMLInputElement, list: HTMLElement, latest: ReturnType<typeof createLatest>, found: FoundState[],
      at: number, go: (id: string) => void,
    }} FindBox */

/** @param {FindBox} finder */
function showList(finder, open) {
  if (!open) finder.latest.drop();
  finder.list.hidden = !open;
  finder.input.setAttribute("aria-expanded", String(open));
  if (!open) {
    finder.at = -1;
    finder.input.removeAttribute("aria-activedescendant");
  }
}

/** @param {FindBox} finder */
function chooseFound(finder, index) {
  finder.at = index;
  for (const [i, row] of [...finder.list.children].entries())
    row.setAttribute("aria-selected", String(i === finder.at));
  const row = finder.list.children[finder.at];
  if (!row) {
    finder.input.removeAttribute("aria-activedescendant");
    return;
  }
  finder.input.setAttribute("aria-activedescendant", row.id);
  row.scrollIntoView({ block: "nearest" });
}

/** @param {FindBox} finder */
function takeFound(finder, index) {
  const one = finder.found[index];
  if (!one) return;
  showList(finder, false);
  finder.go(one.id);
}

/** @param {FindBox} finder */
function showFound(finder, answer) {
  finder.found = answer.found || [];
  finder.list.replaceChildren(
    ...(finder.found.length
      ? finder.found.map((one, index) =>
          el(
            "li",
            {
              id: `wb-found-${index}`,
              role: "option",
              "aria-selected": "false",
              onpointerdown: (event) => {
                event.preventDefault();
                takeFound(finder, index);
              },
            },
            el("b", one.number ?? one.id),
            el("span", one.why),
          ),
        )
      : [
          el(
            "li.none",
            { role: "option", "aria-disabled": "true", "aria-selected": "false" },
            answer.why || "no state found",
          ),
        ]),
  );
  showList(finder, true);
  chooseFound(finder, finder.found.length ? 0 : -1);
}

/** ``find`` asks the server, ``go`` gets the id of the chosen state. */
export function createFindBox(box, { find, go }) {
  const input = el("input", {
    type: "text",
    role: "combobox",
    placeholder: "Find a state",
    "aria-label": "Find a state by number, rule or label",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-controls": "wb-found",
    spellcheck: "false",
    autocomplete: "off",
  });
  const list = el("ul", { id: "wb-found", role: "listbox", "aria-label": "States found", hidden: true });
  box.append(input, el("kbd", { "aria-hidden": "true" }, "/"), list);
  const latest = createLatest({ subject: () => input.value.trim() });
  /** @type {FindBox} */
  const finder = { input, list, latest, found: [], at: -1, go };
  const look = debounce(120, () => {
    const query = input.value.trim();
    if (query) latest.run(async (ask) => showFound(finder, await find(ask, query)));
    else showList(finder, false);
  });
  input.addEventListener("input", look);
  input.addEventListener("focus", () => {
    if (input.value.trim()) look.now();
  });
  input.addEventListener("blur", () => showList(finder, false));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !list.hidden) {
      event.preventDefault();
      chooseFound(finder, (finder.at + step + finder.found.length) % Math.max(1, finder.found.length));
    }
    if (event.key === "Enter") {
      useUp(event);
      if (list.hidden) look.now();
      else takeFound(finder, finder.at);
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      if (list.hidden) {
        input.value = "";
        input.blur();
      } else showList(finder, false);
    }
  });
  return {
    focus: () => {
      input.focus();
      input.select();
    },
    clear: () => {
      input.value = "";
      showList(finder, false);
    },
  };
}
