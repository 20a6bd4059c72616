/* The drawing of a machine: states and edges are added, moved and named with the mouse, with fingers or with the
   keyboard alone. Every change is an edit of the machine's text (``machine-text.js``), so that drawing and text are
   two views of one thing and one undo works for both. */

import { createLatest } from "./ask.js";
import { debounce, el, showNotice, svgEl, targetOf } from "./dom.js";
import { createLabelField, createStepper, elementsOf } from "./drawing-parts.js";
import { createFullScreen } from "./full-screen.js";
import { filled, radiusOf, shapesOf } from "./machine-shapes.js";
import {
  freeName,
  isName,
  labelled,
  marked,
  partAt,
  placed,
  readMachine,
  renamed,
  withEdge,
  withoutEdge,
  withoutState,
} from "./machine-text.js";
import { on } from "./state.js";

/** @import { Servers } from "./wire" */

const GRID = 10,
  NEAR = 12, // pixels between two clicks that are one double click
  SOON = 400, // and milliseconds
  MOVED = 4, // pixels after which a press is a drag
  RIM = 8, // half the width of the rim from which edges are drawn
  MOST_STATES = 100, // of a machine that is drawn
  MOST_EDGES = 300,
  TYPING = 900; // milliseconds of typing that one undo takes back
const BEGIN = "Double-click adds a state. Drag from its rim to draw an edge.",
  TOO_LARGE = `Machines of up to ${MOST_STATES} states and ${MOST_EDGES} edges are drawn. This one is edited as text.`;
const HELP =
  "N adds a state, arrows go to the next state, Alt and an arrow moves it. E begins an edge: arrows or letters " +
  "choose its target, Enter draws it. I and F make a state initial or final, Enter edits a label, F2 renames a " +
  "state, Delete removes it. Tab goes through all states and edges.";

const snap = (value) => Math.round(value / GRID) * GRID;

/** ``write`` gets the text after a change; ``more`` are further buttons of the bar.
    @param {HTMLElement} box
    @param {{ server: Servers["grammar"], write: (text: string) => void, more?: HTMLElement[] }} uses */
export function createDrawing(box, { server, write, more = [] }) {
  let text = "",
    model = readMachine(""),
    places = new Map(), // where each state is shown
    shapes = shapesOf(model, places),
    selected = /** @type {any} */ (null), // { state: name } or { edge: index }
    linking = /** @type {any} */ (null), // { from, to: name or null, at: point or null, typed } while an edge is drawn
    drag = /** @type {any} */ (null),
    edgeMode = false,
    tooLarge = false, // then the text alone can be edited
    problems = [],
    lit = /** @type {any} */ (null), // { states, edges, inside }: a path through the machine
    past = [],
    future = [],
    typedAt = 0,
    view = { x: 0, y: 0, k: 1 };
  const known = new Map(); // positions that are not in the text

  // -- elements ------------------------------------------------------------------------------------
  const act = (label, title, run, more = {}) => el("button", { type: "button", title, onclick: run, ...more }, label);
  const tool = {
    add: act("+ State", "Add a state (N, or double-click on empty space)", () => addState()),
    edge: act(
      "→ Edge",
      "Draw edges: press on a state and drag to another, or press one after the other",
      () => setEdgeMode(!edgeMode),
      { "aria-pressed": "false" },
    ),
    undo: act("↶", "Undo (Ctrl+Z)", () => undo(), { "aria-label": "Undo" }),
    redo: act("↷", "Redo (Ctrl+Shift+Z)", () => redo(), { "aria-label": "Redo" }),
    arrange: act("Arrange", "Lay all states out again", () => arrange(true)),
    fit: act("Fit", "Show the whole machine", () => fit()),
    step: act("Step", "Read a text step by step: the states after each character", () => stepper.toggle(), {
      "aria-expanded": "false",
    }),
    large: act("⤢", "Use the whole window", () => {}, { "aria-label": "Use the whole window" }),
  };
  const bar = el("div", { class: "drawbar", role: "toolbar", "aria-label": "Drawing" });
  bar.append(...Object.values(tool).slice(0, -1), ...more, tool.large);
  const world = svgEl("g", { class: "world" });
  const svg = svgEl("svg", { class: "machine", "aria-hidden": "false" }, world);
  const about = el("div", { class: "chosen", hidden: true });
  const empty = el("p", { class: "quiet hint" });
  const described = el("p", { class: "sr", id: "wb-drawing-help" }, HELP);
  const listed = el("ul", { class: "sr", "aria-label": "States and edges of the drawing" });
  const aloud = el("p", { class: "sr", role: "status" });
  const canvas = el(
    "div",
    {
      class: "sketch",
      tabindex: "0",
      role: "application",
      "aria-label": "Drawing of the machine",
      "aria-describedby": "wb-drawing-help",
    },
    empty,
  );
  canvas.prepend(svg);
  canvas.append(about);
  const field = createLabelField(canvas);
  const stepper = createStepper(tool.step, {
    path: (ask, read) => ask(server.machine_path, { text, read }),
    show: (set) => {
      lit = set;
      render();
    },
  });
  // the states after a text that another part of the page is about; null for none
  on("light machine", (set) => {
    lit = set;
    render();
  });
  box.replaceChildren(bar, canvas, stepper.element, described, listed, aloud);

  // -- the text ------------------------------------------------------------------------------------
  /** Take a text that was opened or typed elsewhere. */
  function show(next, { typed = false } = {}) {
    if (next === text) return;
    const now = performance.now(),
      had = hasPlaces();
    field.close();
    if (!typed) [past, future] = [[], []];
    else if (now - typedAt > TYPING || !past.length) push(text);
    typedAt = typed ? now : 0;
    take(next);
    if (!typed || (had && !hasPlaces())) {
      // another machine
      [selected, linking] = [null, null];
      known.clear();
      if (model.states.size && !hasPlaces()) arrange(false);
      layOut();
      fit();
    }
    stepper.forget();
    render();
  }
  const hasPlaces = () => [...model.states.values()].some((state) => state.place);
  function push(before) {
    past.push(before);
    future = [];
  }
  function take(next) {
    text = next;
    model = readMachine(text);
    tooLarge = model.states.size > MOST_STATES || model.edges.length > MOST_EDGES;
    if (tooLarge) model = readMachine("");
    lit = null; // a path through another machine
    if (selected?.state && !model.states.has(selected.state)) selected = null;
    if (selected?.edge >= model.edges.length) selected = null;
    layOut();
  }
  function layOut() {
    places = filled(model, known);
    shapes = shapesOf(model, places);
  }
  /** A change that the author draws: the text gets the places of all states, so that none is lost or moves. */
  function change(next, chosen = selected, joined = false) {
    const before = text;
    const after = readMachine(next);
    const open = new Map();
    for (const { name, place } of after.states.values())
      if (!place) open.set(name, places.get(name) ?? filled(after, known).get(name));
    for (const name of model.states.keys()) // a state that only the removed line named
      if (!after.states.has(name) && chosen !== null && places.has(name)) open.set(name, places.get(name));
    commit(before, placed(next, open), chosen, joined);
  }
  /** ``joined``: one undo takes this change back together with the one before. */
  function commit(before, after, chosen, joined = false) {
    if (after === before) return;
    if (!joined) push(before);
    typedAt = 0;
    selected = chosen;
    take(after);
    stepper.forget();
    render();
    write(text);
  }
  function undo() {
    if (!past.length) return;
    future.push(text);
    restored(past.pop());
  }
  function redo() {
    if (!future.length) return;
    past.push(text);
    restored(future.pop());
  }
  function restored(next) {
    field.close();
    typedAt = 0;
    take(next);
    stepper.forget();
    render();
    write(text);
  }

  // -- what an author does ---------------------------------------------------------------------------
  function addState(at = null) {
    const name = freeName(model);
    const first = !model.states.size;
    const spot = at ?? freeSpot();
    let next = placed(text, new Map([[name, { x: snap(spot.x), y: snap(spot.y) }]]));
    if (first) next = marked(next, name, "initial", true);
    change(next, { state: name });
    if (!at) reveal(name);
    say(`state ${name} added`);
    return name;
  }
  /** A free place for a state: near the selected one, or in the middle of what is seen. */
  function freeSpot() {
    const rect = canvas.getBoundingClientRect();
    const near = selected?.state && places.get(selected.state);
    const from = near ? { x: near.x + 120, y: near.y } : toWorld({ x: rect.width / 2, y: rect.height / 2 });
    for (let ring = 0; ring < 30; ring++)
      for (const [dx, dy] of [
        [0, 0],
        [0, 1],
        [0, -1],
        [1, 0],
        [1, 1],
        [-1, 1],
      ]) {
        const spot = { x: from.x + dx * 100 * (ring + 1), y: from.y + dy * 100 * (ring + 1) };
        if ([...places.values()].every((other) => Math.hypot(other.x - spot.x, other.y - spot.y) > 70)) return spot;
      }
    return from;
  }
  function connect(source, target) {
    const there = model.edges.findLastIndex((edge) => edge.source === source && edge.target === target);
    linking = null;
    if (there >= 0) {
      select({ edge: there });
      editLabel(there, `${model.edges[there].label}, `);
      return;
    }
    const next = withEdge(text, source, target, "");
    const index = readMachine(next).edges.length - 1;
    const added = readMachine(next).edges.findLastIndex((edge) => edge.source === source && edge.target === target);
    change(next, { edge: added < 0 ? index : added });
    editLabel(selected.edge, "", true);
  }
  function stateNamed(name) {
    const found = model.states.get(name);
    if (!found) throw new Error(`the drawing has no state ${name}`);
    return found;
  }
  function toggle(word) {
    if (!selected?.state) return;
    const state = stateNamed(selected.state);
    change(marked(text, state.name, word, !state[word]));
    say(`${state.name} is ${state[word] ? "no longer " : ""}${word}`);
  }
  function remove() {
    if (!selected) return;
    const what = describe(selected);
    if (selected.state) change(withoutState(text, selected.state), null);
    else {
      const { source } = model.edges[selected.edge];
      change(withoutEdge(text, selected.edge), { state: source });
    }
    say(`${what} removed`);
    if (!selected) canvas.focus({ preventScroll: true });
  }
  function editLabel(index, written = model.edges[index].label, isNew = false) {
    const label = shapes.ways.flatMap((way) => way.labels).find((one) => one.edge === index);
    const shown = written === "ε" ? "" : written;
    field.open(toScreen(label), shown, "What the edge reads, items separated by commas; empty for ε", (value) => {
      if (value !== null) change(labelled(text, index, value), { edge: index }, isNew);
      select({ edge: index });
    });
  }
  function rename(name) {
    field.open(toScreen(places.get(name)), name, "The name of the state", (value) => {
      const other = value?.trim();
      if (other && other !== name) {
        if (!isName(other)) showNotice("A name has letters, digits, _ and '.");
        else if (model.states.has(other)) showNotice(`There is a state ${other} already.`);
        else {
          known.set(other, places.get(name));
          commit(text, renamed(text, name, other), { state: other });
        }
      }
      select({ state: model.states.has(other) && isName(other ?? "") ? other : name });
    });
  }
  function move(name, to) {
    change(placed(text, new Map([[name, to]])), { state: name });
  }
  const arranging = createLatest({ subject: () => text });
  const arrange = (drawn) =>
    arranging.run(async (ask) => {
      const answer = await ask(server.arrange_machine, { text });
      if (answer.ok) arranged(answer, drawn);
      else if (drawn) showNotice(answer.fault || answer.why);
    });
  function arranged(answer, drawn) {
    const found = new Map(answer.places.map(({ name, x, y }) => [name, { x, y }]));
    if (drawn) change(placed(text, found));
    else for (const [name, at] of found) known.set(name, at);
    layOut();
    fit();
    render();
  }
  function setEdgeMode(wanted) {
    edgeMode = wanted;
    linking = null;
    tool.edge.setAttribute("aria-pressed", String(wanted));
    canvas.classList.toggle("edges", wanted);
    render();
  }
  // Esc cancels a label or a choice first
  const large = createFullScreen(box, tool.large, { changed: () => fit(), leaves: () => !selected, screen: false });

  // what is below the drawing cannot be seen
  box.addEventListener("focusout", ({ relatedTarget: to }) => {
    const inside = !(to instanceof Element) || box.contains(to) || to.closest("dialog");
    if (large.isOn() && !inside) canvas.focus();
  });

  // -- what is selected --------------------------------------------------------------------------------
  function select(part, { focus = true } = {}) {
    selected = part;
    render();
    if (focus) focusSelected();
  }
  const partKey = (part) => (part?.state ? `state ${part.state}` : part ? `edge ${part.edge}` : "");
  const elementOf = (part) => [...world.querySelectorAll(".st, .lb")].find((one) => one.dataset.part === partKey(part));
  function focusSelected() {
    (elementOf(selected) ?? canvas).focus({ preventScroll: true });
  }
  function describe(part) {
    if (part.state) {
      const { name, initial, final } = stateNamed(part.state);
      return ["state", name].join(" ") + (initial ? ", initial" : "") + (final ? ", final" : "");
    }
    const { source, target, label } = model.edges[part.edge];
    return `edge from ${source} to ${target} that reads ${label || "ε"}`;
  }
  const problemsOf = (part) => problems.filter((one) => partKey(one.part) === partKey(part));
  const say = (words) => {
    aloud.textContent = words;
  };

  // -- drawing -----------------------------------------------------------------------------------------
  function render() {
    const inside = world.contains(document.activeElement);
    world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
    svg.style.backgroundPosition = `${view.x}px ${view.y}px`;
    svg.style.backgroundSize = `${20 * view.k}px ${20 * view.k}px`;
    patch(elementsOf({ model, shapes, selected: partKey(selected), describe, problemsOf, lit, linking, places }));
    if (inside && !world.contains(document.activeElement)) focusSelected();
    empty.hidden = model.states.size > 0;
    empty.textContent = tooLarge ? TOO_LARGE : BEGIN;
    canvas.inert = tooLarge;
    for (const button of [tool.add, tool.edge, tool.arrange, tool.fit, tool.step]) button.disabled = tooLarge;
    tool.undo.disabled = !past.length;
    tool.redo.disabled = !future.length;
    showChosen();
    listed.replaceChildren(
      ...[...model.states.keys()].map((state) => el("li", {}, describe({ state }))),
      ...model.edges.map((_, edge) => el("li", {}, describe({ edge }))),
    );
  }
  /** Put new elements in the places of those that differ: one that stays keeps the focus. */
  function patch(fresh) {
    const old = [...world.children];
    if (old.length !== fresh.length) world.replaceChildren(...fresh);
    else
      fresh.forEach((one, at) => {
        if (!old[at].isEqualNode(one)) old[at].replaceWith(one);
      });
  }
  function showChosen() {
    about.hidden = !selected || drag?.moving || field.isOpen() || stepper.isOpen();
    if (about.hidden) return;
    const why = problemsOf(selected).map(({ message }) => el("p", { class: "problem" }, message));
    const remover = act("Delete", "Delete (Delete key)", remove);
    if (selected.state) {
      const state = stateNamed(selected.state);
      const toggler = (word, label) =>
        act(label, `${label} state (${label[0]})`, () => toggle(word), { "aria-pressed": String(state[word]) });
      about.replaceChildren(
        el("b", {}, state.name),
        toggler("initial", "Initial"),
        toggler("final", "Final"),
        act("Rename", "Rename (F2)", () => rename(state.name)),
        remover,
        ...why,
      );
    } else {
      const edge = model.edges[selected.edge];
      about.replaceChildren(
        el("b", {}, `${edge.source} → ${edge.target}`),
        act("Label", "Edit the label (Enter)", () => editLabel(model.edges.indexOf(edge))),
        remover,
        ...why,
      );
    }
  }

  // -- the view ------------------------------------------------------------------------------------------
  const toScreen = ({ x, y }) => ({ x: view.x + view.k * x, y: view.y + view.k * y });
  const toWorld = ({ x, y }) => ({ x: (x - view.x) / view.k, y: (y - view.y) / view.k });
  const here = (event) => {
    const rect = svg.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };
  function fit() {
    const rect = canvas.getBoundingClientRect();
    if (!rect.width) return;
    const { x, y, w, h } = shapes.bounds;
    const k = Math.min(1.25, (rect.width - 24) / w, (rect.height - 24) / h);
    view = { k, x: rect.width / 2 - k * (x + w / 2), y: rect.height / 2 - k * (y + h / 2) };
    render();
  }
  function zoom(by, around) {
    const k = Math.min(3, Math.max(0.2, view.k * by));
    const at = toWorld(around);
    view = { k, x: around.x - k * at.x, y: around.y - k * at.y };
    render();
  }
  /** Bring a state into view. */
  function reveal(name) {
    const rect = canvas.getBoundingClientRect(),
      at = toScreen(places.get(name)),
      margin = 60;
    if (at.x < margin || at.y < margin || at.x > rect.width - margin || at.y > rect.height - margin) fit();
  }
  svg.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), here(event));
    },
    { passive: false },
  );
  new ResizeObserver(debounce(80, () => fit())).observe(canvas);

  // -- pointers --------------------------------------------------------------------------------------------
  let lastTap = { time: 0, x: 0, y: 0, what: "" };
  const stateAt = (at) =>
    [...places].findLast(([name, place]) => Math.hypot(at.x - place.x, at.y - place.y) <= radiusOf(name) + RIM)?.[0];
  const onRim = (name, at) => {
    const place = places.get(name);
    return Math.hypot(at.x - place.x, at.y - place.y) > radiusOf(name) - RIM + 1;
  };

  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const screen = here(event),
      at = toWorld(screen),
      part = event.target.closest("[data-part]")?.dataset.part ?? "";
    const name = stateAt(at);
    field.close();
    drag = { screen, view, part, name, at, moving: false, links: false, from: null, to: null };
    if (name && (edgeMode || event.shiftKey || onRim(name, at))) drag.links = true;
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => {
    const screen = here(event),
      at = toWorld(screen);
    if (!drag) {
      const name = stateAt(at);
      svg.classList.toggle("linking", Boolean(name) && (edgeMode || onRim(name, at)));
      return;
    }
    if (!drag.moving && Math.hypot(screen.x - drag.screen.x, screen.y - drag.screen.y) < MOVED) return;
    drag.moving = true;
    if (drag.links) linking = { from: drag.name, to: stateAt(at) ?? null, at, typed: "" };
    else if (drag.name) {
      drag.from ??= places.get(drag.name);
      const to = { x: drag.from.x + at.x - drag.at.x, y: drag.from.y + at.y - drag.at.y };
      drag.to = event.altKey ? to : { x: snap(to.x), y: snap(to.y) };
      places.set(drag.name, drag.to);
      shapes = shapesOf(model, places);
    } else view = { ...view, x: drag.view.x + screen.x - drag.screen.x, y: drag.view.y + screen.y - drag.screen.y };
    render();
  });
  svg.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const { moving, links, name, to, part } = drag,
      at = toWorld(here(event));
    drag = null;
    if (moving && links) finishLink(name, at);
    else if (moving && name) move(name, to);
    else if (!moving) tapped(event, name, part, at);
    render();
  });
  svg.addEventListener("pointercancel", () => {
    [drag, linking] = [null, null];
    layOut();
    render();
  });
  function finishLink(from, at) {
    const target = stateAt(at);
    linking = null;
    if (target) connect(from, target);
    else {
      addState(at);
      connect(from, selected.state);
    }
  }
  function tapped(event, name, part, at) {
    const now = performance.now(),
      what = name ?? part;
    const twice =
      now - lastTap.time < SOON &&
      Math.hypot(event.clientX - lastTap.x, event.clientY - lastTap.y) < NEAR &&
      lastTap.what === what;
    lastTap = { time: twice ? 0 : now, x: event.clientX, y: event.clientY, what };
    if (linking && name) return connect(linking.from, name);
    linking = null;
    if (name && edgeMode) {
      linking = { from: name, to: null, at: null, typed: "" };
      return select({ state: name });
    }
    if (name) {
      select({ state: name });
      if (twice) toggle("final");
    } else if (part.startsWith("edge ")) {
      const edge = Number(part.slice(5));
      const again = selected?.edge === edge;
      select({ edge });
      if (again || event.target.closest(".lb")) editLabel(edge);
    } else {
      select(null, { focus: false });
      canvas.focus({ preventScroll: true });
      if (twice) addState(at);
    }
  }

  // -- keys --------------------------------------------------------------------------------------------------
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  /** The next state in a direction, seen from another; without one the first. */
  function neighbour(name, [dx, dy]) {
    const from = places.get(name);
    if (!from) return places.keys().next().value;
    let best = null,
      least = Infinity;
    for (const [other, place] of places) {
      const along = (place.x - from.x) * dx + (place.y - from.y) * dy,
        across = Math.abs((place.x - from.x) * dy) + Math.abs((place.y - from.y) * dx);
      if (other === name || along <= 0) continue;
      if (along + 2 * across < least) [best, least] = [other, along + 2 * across];
    }
    return best;
  }
  /** Keys while the target of an edge is chosen. */
  function chooseTarget(event) {
    const arrow = ARROWS[event.key];
    if (event.key === "Escape") linking = null;
    else if (event.key === "Enter") return connect(linking.from, linking.to ?? linking.from);
    else if (arrow) {
      linking.to = neighbour(linking.to ?? linking.from, arrow) ?? linking.to;
      linking.typed = "";
    } else if (event.key.length === 1) {
      const typed = linking.typed + event.key;
      const found = [...model.states.keys()].find((name) => name.toLowerCase().startsWith(typed.toLowerCase()));
      if (found) [linking.to, linking.typed] = [found, typed];
    } else return false;
    say(linking ? `to ${linking.to ?? linking.from}; Enter draws the edge` : "no edge");
    render();
    return true;
  }
  function keyed(event) {
    const arrow = ARROWS[event.key];
    if (linking && !drag) return chooseTarget(event);
    if (arrow && event.altKey && selected?.state) {
      const { x, y } = places.get(selected.state);
      return move(selected.state, { x: x + GRID * arrow[0], y: y + GRID * arrow[1] });
    }
    if (event.altKey) return Boolean(arrow); // the page would scroll
    if (arrow) {
      const from = selected?.state ?? (selected ? model.edges[selected.edge].source : "");
      const next = neighbour(from, arrow) ?? model.edges[selected?.edge]?.target;
      if (next) {
        select({ state: next });
        reveal(next);
      }
      return true;
    }
    const keys = {
      n: () => {
        addState();
        focusSelected();
      },
      e: () => {
        const from = selected?.state ?? model.states.keys().next().value;
        if (!from) return;
        if (!selected?.state) select({ state: from });
        linking = { from, to: null, at: null, typed: "" };
        say(`an edge from ${from}: arrows or letters choose its target`);
        render();
      },
      i: () => toggle("initial"),
      f: () => toggle("final"),
      Delete: remove,
      Backspace: remove,
      F2: () => (selected?.state ? rename(selected.state) : selected && editLabel(selected.edge)),
      Enter: () => (selected?.state ? rename(selected.state) : selected && editLabel(selected.edge)),
      " ": () => {},
      "+": () => zoom(1.25, middle()),
      "-": () => zoom(0.8, middle()),
      0: fit,
      Escape: () => {
        select(null, { focus: false });
        canvas.focus({ preventScroll: true });
      },
    };
    const run = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!run) return event.key.length === 1 && event.key !== "?";
    run();
    return true;
  }
  const middle = () => ({ x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 });
  canvas.addEventListener("keydown", (event) => {
    if (event.target !== canvas && !world.contains(event.target)) return;
    if (event.ctrlKey || event.metaKey) return;
    if (keyed(event) === false) return;
    event.preventDefault();
    event.stopPropagation(); // letters are keys of the page too
  });
  /** Undo and redo, wherever the focus is in the drawing or its text; whether the key was one of them. */
  function undoKey(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return false;
    const key = event.key.toLowerCase();
    if (key === "z") (event.shiftKey ? redo : undo)();
    else if (key === "y") redo();
    else return false;
    event.preventDefault();
    return true;
  }
  box.addEventListener("keydown", (event) => {
    if (!targetOf(event).matches("input")) undoKey(event);
  });
  world.addEventListener("focusin", (event) => {
    const [kind, ...name] = (event.target.closest("[data-part]")?.dataset.part ?? "").split(" ");
    const part = kind === "state" ? { state: name.join(" ") } : kind ? { edge: Number(name[0]) } : null;
    if (!part || partKey(part) === partKey(selected) || drag) return;
    select(part);
  });

  const following = createLatest({ subject: () => text });
  let followed = null; // the text of which states were asked last
  return {
    show,
    undoKey,
    /** Light the states after a text that the model wrote; null: none. */
    follow(read) {
      if (stepper.isOpen() || (read === followed && read === null)) return;
      followed = read;
      following.run(async (ask) => {
        const answer = read === null ? null : await ask(server.machine_path, { text, read });
        if (stepper.isOpen()) return;
        lit = answer?.ok ? answer.sets.at(-1) : null;
        render();
      });
    },
    /** Focus the drawing, or the part at a piece of the text. */
    focus(piece) {
      const part = piece && partAt(model, piece[0], piece[1]);
      if (part) select(part);
      else canvas.focus();
    },
    /** Problems of the text: [{from, to, severity, message}] in code units. */
    problems(list) {
      problems = list.map((one) => ({ ...one, part: partAt(model, one.from, one.to) })).filter((one) => one.part);
      render();
    },
  };
}
