/* The elements of a drawn machine, the field in which names and labels are typed, and the reader that goes through a
   text step by step. */

import { createLatest } from "./ask.js";
import { createButton, el, svgEl, VERBATIM } from "./dom.js";
import { entryOf, head, nameShown } from "./machine-shapes.js";

/** @import { StatesRead } from "./wire" */

/** @typedef {ReturnType<typeof createLabelField>} LabelField
    @typedef {ReturnType<typeof createStepper>} Stepper */

const words = (...names) => names.filter(Boolean).join(" ");

/** The sign of the worst problem of a part, with all of their messages. */
function badge(found, x, y) {
  if (!found.length) return [];
  const worst = ["error", "warning", "note"].find((severity) => found.some((one) => one.severity === severity));
  return [
    svgEl(
      "g",
      { class: `badge ${worst}`, transform: `translate(${x} ${y})` },
      svgEl("title", {}, found.map(({ message }) => message).join("\n")),
      svgEl("circle", { r: 8 }),
      svgEl("text", { y: 4 }, worst === "note" ? "i" : "!"),
    ),
  ];
}

/** All elements of a machine. ``lit`` are the states and edges of a path through it, ``linking`` the edge that is
    drawn now. */
export function elementsOf({ model, shapes, selected, describe, problemsOf, lit, linking, places }) {
  const edges = shapes.ways.flatMap((way) => edgeElements(way));
  const states = [...model.states.values()].map(stateElement);
  return [...edges, ...states, ...(linking ? previewed() : [])];

  function edgeElements(way) {
    const chosen = way.edges.some((index) => selected === `edge ${index}`),
      through = lit && way.edges.some((index) => lit.edges.includes(index)),
      inside = lit && way.edges.some((index) => lit.inside.includes(index));
    const line = svgEl(
      "g",
      {
        class: words("way", chosen && "on", through && "lit", inside && "partly"),
        "data-part": `edge ${way.edges[0]}`,
        tabindex: null,
      },
      svgEl("path", { class: "hit", d: way.path }),
      svgEl("path", { class: "line", d: way.path }),
      svgEl("polygon", { class: "head", points: head(way) }),
    );
    return [line, ...way.labels.map(labelElement)];
  }
  function labelElement({ edge, text, x, y, w, h }) {
    const part = { edge },
      found = problemsOf(part);
    return svgEl(
      "g",
      {
        class: words("lb", selected === `edge ${edge}` && "on", lit?.edges.includes(edge) && "lit"),
        "data-part": `edge ${edge}`,
        tabindex: 0,
        role: "button",
        "aria-label": [describe(part), ...found.map(({ message }) => message)].join(". "),
      },
      svgEl("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 4 }),
      svgEl("text", { x, y: y + 4.5 }, text),
      ...badge(found, x + w / 2 + 4, y - h / 2),
    );
  }
  function stateElement(state) {
    const { x, y, r } = shapes.discs.get(state.name),
      part = { state: state.name },
      found = problemsOf(part),
      target = linking && (linking.to ?? null) === state.name;
    const entry = state.initial ? entryOf(shapes.discs.get(state.name)) : null;
    return svgEl(
      "g",
      {
        class: words(
          "st",
          selected === `state ${state.name}` && "on",
          lit?.states.includes(state.name) && "lit",
          (target || linking?.from === state.name) && "target",
        ),
        "data-part": `state ${state.name}`,
        tabindex: 0,
        role: "button",
        "aria-label": [describe(part), ...found.map(({ message }) => message)].join(". "),
      },
      svgEl("title", {}, state.name),
      ...(entry
        ? [svgEl("path", { class: "line", d: entry.path }), svgEl("polygon", { class: "head", points: head(entry) })]
        : []),
      svgEl("circle", { class: "rim", cx: x, cy: y, r: r + 8 }),
      svgEl("circle", { class: "body", cx: x, cy: y, r }),
      ...(state.final ? [svgEl("circle", { class: "inner", cx: x, cy: y, r: r - 5 })] : []),
      svgEl("text", { x, y: y + 4.5 }, nameShown(state.name)),
      ...badge(found, x + r * 0.75, y - r * 0.75),
    );
  }
  function previewed() {
    const from = places.get(linking.from),
      to = linking.to ? places.get(linking.to) : linking.at;
    if (!from || !to || linking.to === linking.from) return [];
    return [svgEl("path", { class: "preview", d: `M${from.x} ${from.y} L${to.x} ${to.y}` })];
  }
}

/** One field for names and labels, over the place that is edited; ``done`` gets the value, or null if it was left. */
export function createLabelField(canvas) {
  const input = el("input.labelfield", { type: "text", hidden: true, ...VERBATIM, autocorrect: "off" });
  canvas.append(input);
  /** @type {((value: string | null) => void) | null} */
  let finish = null;
  /** @param {string | null} value */
  function close(value) {
    if (!finish) return;
    const done = finish;
    finish = null;
    input.hidden = true;
    done(value);
  }
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Tab") {
      event.preventDefault();
      close(input.value);
    }
    if (event.key === "Escape") close(null);
  });
  input.addEventListener("blur", () => close(input.value));
  return {
    isOpen: () => finish !== null,
    close: () => close(input.value),
    open({ x, y }, value, name, done) {
      close(input.value);
      input.setAttribute("aria-label", name);
      input.placeholder = name.startsWith("What") ? "ε" : "";
      input.value = value;
      input.hidden = false;
      const width = 130;
      input.style.width = `${width}px`;
      input.style.left = `${Math.max(4, Math.min(canvas.clientWidth - width - 4, x - width / 2))}px`;
      input.style.top = `${Math.max(4, Math.min(canvas.clientHeight - 34, y - 15))}px`;
      finish = done;
      input.focus({ preventScroll: true });
      input.select();
      if (value.endsWith(", ")) input.setSelectionRange(value.length, value.length);
    },
  };
}

/** Reads a text step by step: a field, two buttons, and the characters with the one that was read last. */
export function createStepper(button, { path, show }) {
  const input = el("input", {
    type: "text",
    "aria-label": "A text to read step by step",
    placeholder: "a text to read step by step",
    ...VERBATIM,
  });
  const back = createButton("◀", { "aria-label": "One character back" }, () => go(at - 1)),
    next = createButton("▶", { "aria-label": "Read the next character" }, () => go(at + 1));
  const status = el("span.quiet", { role: "status" });
  const element = el("div.stepper", { hidden: true }, input, back, next, status);
  /** @type {StatesRead[]} */
  let sets = []; // empty before they are asked for
  let at = -1;
  const latest = createLatest();

  /** Ask for the states along the text, once; then show those after a number of characters. */
  async function go(to) {
    if (!sets.length) {
      const answer = await latest.run((ask) => path(ask, input.value));
      if (!answer) return;
      if (!answer.ok) {
        status.textContent = answer.why || "";
        return;
      }
      sets = answer.sets;
    }
    at = Math.max(0, Math.min(sets.length - 1, to));
    const set = sets[at],
      letters = [...input.value];
    show(set);
    const after = at ? `after ${letters.slice(0, at).join("")}: ` : "at the beginning: ";
    const where = set.states.length ? set.states.join(", ") : set.inside.length ? "inside an edge" : "no state";
    const end = at === sets.length - 1 ? (set.final ? " — accepted" : " — refused") : "";
    status.textContent = after + where + end;
    status.className = end ? (set.final ? "good" : "no") : "quiet";
    back.disabled = at === 0;
    next.disabled = at === sets.length - 1;
  }
  function forget() {
    latest.drop();
    if (!sets.length && at < 0) return;
    [sets, at] = [[], -1];
    status.textContent = "";
    back.disabled = next.disabled = false;
    show(null);
  }
  input.addEventListener("input", forget);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") go(at + 1);
    else if (event.key === "ArrowUp") go(at - 1);
    else return;
    event.preventDefault();
  });
  return {
    element,
    forget,
    isOpen: () => !element.hidden,
    toggle() {
      element.hidden = !element.hidden;
      button.setAttribute("aria-expanded", String(!element.hidden));
      if (element.hidden) forget();
      else {
        input.focus();
        go(0);
      }
    },
  };
}
