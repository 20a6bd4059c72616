/* A picture of a machine that reacts: the server's SVG and the position of each state in it. A click or a key selects a
   state or an edge; the pointer lights what belongs to a state, a run its path. */

import { createCamera } from "./camera.js";
import { targetOf } from "./dom.js";
import { createDrag, createGlide } from "./drag.js";
import { drawFlags, markTaken } from "./flags.js";
import { createOverview } from "./overview.js";
import { emit } from "./state.js";

/** @import { Flags, FlagSegment, Picture, Step, Turn } from "./wire" */

const NS = "http://www.w3.org/2000/svg";
let made = 0;

/** SVG text becomes elements without anything that could run or load. */
function parsed(svg, prefix) {
  const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  if (root.nodeName !== "svg") return null;
  for (const bad of root.querySelectorAll("script, foreignObject, image, style, a")) {
    if (bad.nodeName === "a") bad.replaceWith(...bad.childNodes);
    else bad.remove();
  }
  for (const each of root.querySelectorAll("*")) {
    for (const { name } of [...each.attributes]) if (/^on|href$/i.test(name)) each.removeAttribute(name);
  }
  // several pictures may show one state: what is one in the server's text is one of many in the page
  for (const each of root.querySelectorAll("[id]")) {
    each.dataset.id = each.id;
    each.id = prefix + each.id;
  }
  return document.importNode(root, true);
}

/** The states a token passes in a picture: the current ones, and the moments from there on. A machine over tokens
      passes none on the way; ``mark`` is what the token does to the stack.
    @param {Picture} record @param {Step | Turn} step */
export function passedBy(record, step, atEnd = false) {
  const states = (record?.follow && step?.path?.[record.follow]) || [];
  const moments = states.map((moment) => moment.map((name) => record.names[name] ?? name));
  if (!moments.length) return { standing: [], path: [], over: false, mark: "" };
  const [first, last] = [moments[0], moments[moments.length - 1]];
  const between = moments.slice(1, -1).some(([name]) => name !== first[0] && name !== last[0]);
  const path = record.ends && moments.length > 1 ? [first, last] : moments;
  const [before, after] = step.path.stacks || [];
  const pops = after?.kept !== undefined ? before.depth - after.kept : 0,
    pushes = after?.kept !== undefined ? after.depth - after.kept : 0;
  const mark = [pops ? `▼${pops}` : "", pushes ? `▲${pushes}` : ""].filter(Boolean).join(" ");
  return {
    standing: atEnd ? last : first,
    path,
    over: record.ends && record.follow === "characters" && between,
    mark,
  };
}

/** @param {HTMLElement} box @param {(state: string) => void} picked
    @param {{ edge?: (index: number) => void, flag?: (segment: FlagSegment) => void, camera?: object,
      machine?: (() => string) | null, seen?: (isWhole: boolean) => void }} [doors] `seen` is told whether the whole
      picture is in view */
export function createGraph(
  box,
  picked,
  {
    edge: pickedEdge = () => {},
    flag: pickedFlag = () => {},
    camera: looks = {},
    machine = null,
    seen = () => {},
  } = {},
) {
  const canvas = box.querySelector(".canvas"),
    prefix = `g${++made}-`;
  let picture = /** @type {any} */ (null),
    svg = /** @type {any} */ (null),
    chosen = null,
    lit = [],
    flags = /** @type {Flags | null} */ (null),
    layer = /** @type {Element | null} */ (null); // the flags as drawn
  const drag = createDrag(machine),
    glide = createGlide();
  const overview = createOverview(box, (x, y) => camera.goTo(x, y));
  const camera = createCamera(box, tapped, {
    ...looks,
    grab: drag.grab,
    seen: (view, isWhole) => {
      overview.see(view);
      seen(isWhole);
    },
  });
  const fit = () => {
    drag.reset();
    camera.fit();
  };
  const element = (id) => (id ? canvas.querySelector(`#${CSS.escape(prefix + id)}`) : null);
  const shownAt = (state) => picture?.where[state];
  const stateOf = (node) => node.dataset.id.replace(/^state-/, "");
  const edgeOf = (group) => Number(group.dataset.id?.slice(5) ?? -1);
  /** The edges whose label this is; a label may belong to several. */
  const labelled = (group) => (group.dataset.edges ?? "-1").split(" ").map(Number);
  const labelsOf = (index) => canvas.querySelectorAll(`[data-edges~="${index}"]`);

  /** The arrow into the first state; Graphviz would need a node and a rank for it. */
  function markStart(home) {
    for (const node of svg.querySelectorAll(svg.matches(".lanes") ? ".node.rule, .node.initial" : ".node.initial")) {
      const rings = [...node.querySelectorAll("ellipse")];
      if (!rings.length) continue;
      const [cx, cy] = ["cx", "cy"].map((name) => Number(rings[0].getAttribute(name)));
      const left = cx - Math.max(...rings.map((ring) => Number(ring.getAttribute("rx"))));
      const put = (d, name) => {
        const path = document.createElementNS(NS, "path");
        path.setAttribute("d", d);
        path.setAttribute("class", name);
        node.append(path);
      };
      put(`M${left - 20} ${cy}H${left - 5}`, "start");
      put(`M${left} ${cy}l-7 -2.6v5.2z`, "start tip");
      home = [Math.min(home[0], left - 24), home[1], home[2] + Math.max(0, home[0] - left + 24), home[3]];
    }
    return home;
  }
  /** Names for screen readers, and a broad line under each thin one, to be hit by a finger. */
  function prepare() {
    for (const node of svg.querySelectorAll(".node")) {
      node.setAttribute("role", "img");
      node.setAttribute("aria-label", node.querySelector("title")?.textContent || stateOf(node));
    }
    for (const group of svg.querySelectorAll(".edge")) {
      const line = group.querySelector("path");
      if (!line) continue;
      const wide = line.cloneNode();
      wide.setAttribute("class", "hit");
      wide.removeAttribute("stroke-dasharray");
      group.append(wide);
    }
  }

  function pick(state) {
    chosen = state;
    for (const node of canvas.querySelectorAll(".picked")) node.classList.remove("picked");
    const found = state === null ? null : element(`state-${state}`);
    found?.classList.add("picked");
    if (found) box.setAttribute("aria-activedescendant", found.id);
    else box.removeAttribute("aria-activedescendant");
    picked(state);
  }
  function tapped(target) {
    const group = target?.closest?.(".node, .edge, .label, .rulename, .non-terminal");
    if (!group || !canvas.contains(group)) {
      if (chosen !== null) pick(null);
      return;
    }
    if (group.matches(".node.calls")) {
      emit("open rule", group.querySelector("text").textContent);
      return;
    }
    if (group.matches(".node")) {
      if (group.dataset.id) pick(stateOf(group));
    } else if (group.matches(".segment")) {
      pick(null);
      group.classList.add("picked");
      const [flag, part] = group.dataset.flag.split(" ").map(Number);
      pickedFlag(/** @type {Flags} */ (flags).flags[flag].segments[part]);
    } else if (group.matches(".label")) {
      pick(null);
      group.classList.add("picked");
      pickedEdge(labelled(group)[0]);
    } else if (group.matches(".edge")) {
      pick(null);
      group.classList.add("picked");
      pickedEdge(edgeOf(group));
    } else {
      const place = group.closest("[data-start]");
      if (place) emit("place", { start: Number(place.dataset.start), end: Number(place.dataset.end) });
    }
  }
  /** The states in drawing order; with an arrow key and Alt the one an edge leads to. */
  function move(by) {
    const ids = picture ? picture.states.map((s) => s.id) : [];
    if (!ids.length) return;
    const next = (ids.indexOf(chosen) + by + ids.length) % ids.length;
    pick(ids[next]);
    camera.reveal(element(`state-${ids[next]}`));
  }

  box.addEventListener("keydown", (event) => {
    if (event.target !== box || event.ctrlKey || event.metaKey) return;
    if (event.shiftKey && chosen !== null && drag.key(chosen, event.key)) {
      event.preventDefault();
      return;
    }
    const act = {
      ArrowLeft: () => camera.pan(-40, 0),
      ArrowRight: () => camera.pan(40, 0),
      ArrowUp: () => camera.pan(0, -40),
      ArrowDown: () => camera.pan(0, 40),
      "+": () => camera.zoom(0.8),
      "=": () => camera.zoom(0.8),
      "-": () => camera.zoom(1.25),
      0: fit,
      ".": () => move(1),
      ",": () => move(-1),
      Escape: () => {
        if (chosen === null) return false;
        pick(null);
        return true;
      },
    }[event.key];
    if (act && act() !== false) event.preventDefault();
  });

  box.addEventListener("dblclick", (event) => {
    const node = targetOf(event).closest(".node[data-id]");
    if (node) drag.reset(stateOf(node));
  });

  /** What belongs to a state or an edge stands out while the pointer is on it; where a rule ends, its returns are
      drawn. */
  function hover(target) {
    for (const near of canvas.querySelectorAll(".near")) near.classList.remove("near");
    for (const line of hovered) line.remove();
    hovered = [];
    const group = target?.closest?.(".node, .edge, .label");
    canvas.classList.toggle("looking", Boolean(group && picture?.edges.length));
    if (!group || !picture) return;
    const state = group.matches(".node") && group.dataset.id ? stateOf(group) : null;
    const edges = group.matches(".label") ? labelled(group) : [edgeOf(group)];
    picture.edges.forEach((edge, index) => {
      if (state === null ? !edges.includes(index) : edge.source !== state && edge.target !== state) return;
      for (const id of [`edge-${index}`, `state-${edge.source}`, `state-${edge.target}`])
        element(id)?.classList.add("near");
      for (const label of labelsOf(index)) label.classList.add("near");
    });
    if (state?.startsWith("call-"))
      lane(picture.states.find((one) => one.id === state)?.label.replace(/^→ /, ""))?.classList.add("near");
    group.classList.add("near");
    const ended =
      state !== null &&
      svg.matches(".lanes") &&
      picture.states.find((one) => one.id === state && one.kinds.includes("final"));
    if (ended?.rule)
      callsOf(ended.rule).forEach(([call, back], index) => {
        element(`state-${call}`)?.classList.add("near");
        element(`state-${back}`)?.classList.add("near");
        hovered.push(...returning(state, back, index));
      });
  }
  let waiting = 0,
    hovered = [];
  box.addEventListener("pointerover", (event) => {
    clearTimeout(waiting);
    const target = event.target;
    waiting = setTimeout(() => hover(target), 90);
  });
  box.addEventListener("pointerleave", () => {
    clearTimeout(waiting);
    hover(null);
  });

  /** A bead on an edge, where in a folded chain the run stands. */
  function bead(index, state) {
    const line = element(`edge-${index}`)?.querySelector("path"),
      inside = picture.edges[index].inside || [];
    if (!line || !inside.includes(state)) return;
    const share = (inside.indexOf(state) + 1) / (inside.length + 1),
      at = line.getPointAtLength(line.getTotalLength() * share);
    const dot = document.createElementNS(NS, "circle");
    for (const [name, value] of Object.entries({ cx: at.x, cy: at.y, r: 5, class: "bead", "data-share": share }))
      dot.setAttribute(name, value);
    line.parentNode.append(dot);
    lit.push([dot, ""]);
    badge(at.x, at.y + 17, state);
  }
  /** The number of the current state where it is not drawn itself. */
  function badge(x, y, state) {
    const text = document.createElementNS(NS, "text");
    for (const [name, value] of Object.entries({ x, y, class: "badge", "text-anchor": "middle", "font-size": 10 }))
      text.setAttribute(name, String(value));
    text.textContent = picture.numbers?.[state] ?? state;
    svg.querySelector("g").append(text);
    lit.push([text, ""]);
  }
  function mark(found, name) {
    if (!found) return;
    found.classList.add(name);
    lit.push([found, name]);
  }

  /** An edge is marked with its labels; it is drawn over the edges that are not. */
  function markEdge(index) {
    const edge = element(`edge-${index}`),
      over = svg.matches(".lanes") && edge?.parentNode.querySelector(".frame, .label, .node");
    if (over) edge.parentNode.insertBefore(edge, over);
    mark(edge, "gone");
    for (const label of labelsOf(index)) mark(label, "gone");
  }
  const lane = (name) => (name ? canvas.querySelector(`.cluster[data-rule="${CSS.escape(name)}"]`) : null);

  /** Light what a run passes. Where a state is inside an edge, the edge is lit for it. */
  function light(
    { standing, path, over, mark: effect },
    { also = true, fails = false, step = /** @type {any} */ (null), atEnd = false } = {},
  ) {
    for (const [found, name] of lit)
      if (name) found.classList.remove(name);
      else found.remove();
    lit = [];
    if (!picture || !svg) return null;
    let found = null;
    standing.forEach((state, index) => {
      const place = shownAt(state) ?? (index ? null : callOf(step, atEnd)),
        shown = element(place);
      if (!shown || (index && !also)) return;
      const inEdge = place.startsWith("edge-");
      if (inEdge) markEdge(place.slice(5));
      else mark(shown, index ? "also" : "now");
      // inside a counted loop the current state is the one the loop is drawn at
      const loop = inEdge && picture.edges[Number(place.slice(5))];
      if (loop && !index && loop.source !== loop.target) bead(Number(place.slice(5)), state);
      if (loop && loop.source === loop.target) {
        const round = element(`state-${loop.source}`);
        mark(round, "now");
        found ??= round;
        const ring = round?.querySelector("ellipse");
        if (ring && state !== loop.source)
          badge(number(ring, "cx"), number(ring, "cy") + number(ring, "ry") + 11, state);
      }
      found ??= shown;
    });
    overview.mark(found);
    lightWay(path, over, effect);
    if (layer && path.length > 1) markTaken(layer, /** @type {Flags} */ (flags), path[path.length - 1], effect);
    const last = path.length > 1 && path[path.length - 1][0];
    if (fails) mark(element(shownAt(last || standing[0])), "fail");
    if (last && last !== standing[0]) {
      const goal = element(shownAt(last));
      if (goal && !goal.classList.contains("now") && goal.matches(".node")) mark(goal, "next");
    }
    const stacks = step?.path?.stacks,
      boxes = (atEnd ? stacks?.[stacks.length - 1] : stacks?.[0])?.boxes;
    if (boxes && svg.matches(".lanes") && picture.follow === "rules") {
      lightStack(boxes);
      if (!atEnd && stacks.length > 1) lightReturns(stacks, path);
    }
    return found;
  }
  /** Where a rule that has no lane is being read: the box of its call. */
  function callOf(step, atEnd) {
    const stacks = step?.path?.stacks,
      boxes = (atEnd ? stacks?.[stacks.length - 1] : stacks?.[0])?.boxes;
    if (!boxes || boxes.length < 2) return null;
    const id = callId(boxes[boxes.length - 2].state, boxes[boxes.length - 1].rule);
    return id ? `state-${id}` : null;
  }
  /** The drawn calls of a rule, each with the state in which its caller continues. */
  const callsOf = (rule) =>
    picture.states
      .filter((one) => one.id.startsWith("call-") && one.label === `→ ${rule}`)
      .map((one) => [one.id, one.id.split("-").pop()]);
  const callId = (back, rule) =>
    picture.states.find((one) => one.id.startsWith("call-") && one.id.endsWith(`-${back}`) && one.label === `→ ${rule}`)
      ?.id;

  /** Everything on the way of a token: states, calls, edges. */
  function lightWay(path, over, effect) {
    const drawn = [];
    for (const [state] of path) {
      const place = shownAt(state);
      const through = place?.startsWith("edge-") ? picture.edges[Number(place.slice(5))] : null;
      if (through) markEdge(place.slice(5));
      // a rung of a counted loop is left by the edges of the state the loop is drawn at
      const from = !through ? place && state : through.source === through.target ? through.source : null;
      if (from && (!through || from !== drawn[drawn.length - 1])) drawn.push(from);
    }
    for (let i = 0; i + 1 < drawn.length; i++) {
      const index = between(drawn[i], drawn[i + 1], over, effect);
      if (index !== undefined) markEdge(index);
    }
  }
  /** The calls on the stack: states that wait, and a line from each call to the lane of its rule. */
  function lightStack(boxes) {
    const drawn = new Set();
    boxes.slice(0, -1).forEach((waiting, index) => {
      const rule = boxes[index + 1].rule,
        id = callId(waiting.state, rule);
      mark(element(`state-${waiting.state}`), "waits");
      const box = element(id && `state-${id}`),
        goal = lane(rule)?.querySelector("rect");
      if (!box) return;
      mark(box, "on");
      if (drawn.has(id)) return;
      drawn.add(id);
      if (!goal || !lane(boxes[index].rule)) return;
      const first = element(
        `state-${picture.states.find((one) => one.rule === rule && one.kinds.includes("rule"))?.id}`,
      )?.querySelector("ellipse");
      const end = first ? number(first, "cy") : number(goal, "y") + number(goal, "height") / 2;
      wire(
        box,
        boxes[index].rule,
        drawn.size,
        number(goal, "x") - 4 - 4 * (drawn.size % 5),
        `V${end}h${9 + 4 * (drawn.size % 5)}`,
        "calling",
      );
    });
  }
  /** The rules a token leaves: a line from the end of each to the state in which its caller continues. */
  function lightReturns([before, after], path) {
    if (after?.kept === undefined) return;
    const hidden = before.depth + 1 - before.boxes.length;
    before.boxes.slice(0, -1).forEach((caller, index) => {
      if (index + hidden < after.kept) return;
      const rule = before.boxes[index + 1].rule,
        passed = path.map(([state]) => state).findLast((state) => endsOf(rule).some((one) => one.id === state));
      for (const line of returning(passed ?? endsOf(rule)[0]?.id, caller.state, index)) lit.push([line, ""]);
    });
  }
  const number = (one, name) => Number(one.getAttribute(name));
  const endsOf = (rule) => picture.states.filter((one) => one.rule === rule && one.kinds.includes("final"));
  /** The line of a return: from a state where a rule ends to one in which a caller continues. */
  function returning(from, to, order) {
    const end = element(`state-${from}`),
      goal = element(`state-${to}`)?.querySelector("ellipse"),
      ruleOf = (id) => picture.states.find((one) => one.id === id)?.rule;
    const frame = lane(ruleOf(to))?.querySelector("rect");
    if (!end?.querySelector("ellipse") || !goal || !frame) return [];
    const x = number(goal, "cx"),
      y = number(goal, "cy") - number(goal, "ry") - 2,
      street = number(frame, "y") - 2 - 2 * (order % 4);
    return [
      wire(end, ruleOf(from), order, number(frame, "x") - 4 - 4 * (order % 5), `V${street}H${x}V${y}`, "returning"),
    ];
  }
  /** A line over the lanes: down from an element to the street below its lane, along the margin, and on. */
  function wire(shown, rule, order, column, rest, kind) {
    const home = lane(rule).querySelector("rect"),
      shape = shown.querySelector("rect, ellipse"),
      round = shape.matches("ellipse");
    const x = round ? number(shape, "cx") : number(shape, "x") + number(shape, "width") / 2;
    const y = round ? number(shape, "cy") + number(shape, "ry") : number(shape, "y") + number(shape, "height");
    const street = number(home, "y") + number(home, "height") + 2 + 2 * (order % 4);
    const line = document.createElementNS(NS, "path"),
      tip = kind === "calling" ? "m-6 -3.2l6 3.2l-6 3.2" : "m-3.2 -6l3.2 6l3.2 -6";
    line.setAttribute("d", `M${x} ${y}V${street}H${column}${rest}${tip}`);
    line.setAttribute("class", kind);
    svg.querySelector("g").append(line);
    return line;
  }
  /** The edge between two states: of several the one for tokens that pass over others or do not, and that do the same
      to the stack. */
  function between(source, target, over, effect) {
    const found = picture.edges
      .map((edge, index) => ({ ...edge, index }))
      .filter((edge) => edge.source === source && edge.target === target);
    const rank = (edge) =>
      (edge.kinds?.includes("skip") === over ? 0 : 1) +
      (edge.kinds?.includes("bytes") ? 2 : 0) +
      (edge.mark && edge.mark !== effect ? 4 : 0);
    return found.sort((a, b) => rank(a) - rank(b))[0]?.index;
  }

  function dropFlags() {
    layer?.remove();
    layer = flags = null;
    for (const marked of canvas.querySelectorAll(".landing, .ahead")) marked.classList.remove("landing", "ahead");
  }

  return {
    /** Draw the tokens that may follow over the picture, instead of those before; null draws none.
        @param {Flags | null} next */
    flags(next) {
      dropFlags();
      if (!next || !svg || !picture) return;
      flags = next;
      layer = drawFlags(svg, picture, next, { element, labels: (index) => labelsOf(index)[0] });
    },
    /** Show a record; ``at`` is the state it opens at. */
    show(next, at = "") {
      picture = next;
      lit = [];
      chosen = layer = flags = null;
      box.removeAttribute("aria-activedescendant");
      glide.end();
      const old = svg,
        before = next && glide.from(old);
      svg = next ? parsed(next.svg, prefix) : null;
      // the old picture goes while the new one is there already: nothing blinks
      canvas.replaceChildren(...(svg ? [svg] : []), ...(svg && old ? [old] : []));
      if (svg && !old) svg.classList.add("fresh");
      if (svg && old) {
        old.setAttribute("aria-hidden", "true");
        old.classList.add("leaving");
        setTimeout(() => old.remove(), 160);
      }
      if (!svg) {
        overview.open(null);
        camera.close();
        return;
      }
      const home = (svg.getAttribute("viewBox") || "0 0 100 100").split(/[\s,]+/).map(Number);
      for (const name of ["width", "height"]) svg.removeAttribute(name);
      svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
      svg.setAttribute("role", "group");
      const wide = svg.classList.contains("railroad");
      const first =
        element(next.where[at || next.centre]) ||
        element(`state-${(next.states.find((each) => each.kinds.includes("initial")) || next.states[0])?.id}`);
      const frame = wide ? home : markStart(home);
      overview.open(svg, frame);
      camera.open(svg, frame, {
        centre: first,
        wide,
        at: at || next.centre ? 0.5 : 0.12,
        clip: machine?.() !== "together",
        ...next.opening,
      });
      prepare();
      drag.open(svg, next);
      if (before) glide.to(svg, before);
    },
    light,
    pick,
    /** The number of the edge that an element belongs to, itself or its label; −1 for none. */
    edgeAt: (element) => {
      const group = element.closest(".edge, .label:not(.segment)");
      return !group ? -1 : group.matches(".edge") ? edgeOf(group) : labelled(group)[0];
    },
    /** Whether a state is in the picture, itself or inside an edge. */
    has: (state) => Boolean(element(shownAt(state))),
    follow: (state, smooth) => {
      glide.end();
      camera.follow(element(shownAt(state)), smooth);
    },
    /** The state that the overview marks. */
    current: (id) => overview.mark(element(id)),
    reveal: (id, share) => camera.reveal(element(id), { share }),
    fit,
    /** The whole picture, however small it becomes. */
    whole: camera.all,
    zoom: camera.zoom,
    /** Mark the nodes on the path to the selected one. */
    path(ids) {
      for (const node of canvas.querySelectorAll(".node.above")) node.classList.remove("above");
      for (const id of ids) element(`state-${id}`)?.classList.add("above");
    },
    /** Rules being read, where rules are drawn as tracks. */
    rules(names) {
      for (const rule of canvas.querySelectorAll("g.rule[data-rule]"))
        rule.classList.toggle("now", names.includes(rule.dataset.rule));
    },
  };
}
