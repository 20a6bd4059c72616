/* A picture that can be moved: in comes the SVG Graphviz laid out, and where each state is in it;
   wheel, drag, pinch, buttons and keys move it, a click picks a state, a run lights its way. */
(() => {
  "use strict";

  /** SVG text becomes elements without anything that could run or load. */
  function parsed(svg) {
    const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    if (root.nodeName !== "svg") return null;
    for (const bad of root.querySelectorAll("script, foreignObject, image, style, a")) {
      if (bad.nodeName === "a") bad.replaceWith(...bad.childNodes); else bad.remove();
    }
    for (const each of root.querySelectorAll("*")) {
      for (const { name } of [...each.attributes]) if (/^on|href$/i.test(name)) each.removeAttribute(name);
    }
    return document.importNode(root, true);
  }

  const READABLE = 0.7; // pixels a point: 11-point labels are then 8 pixels high
  const TOP = 30; // pixels kept free for the line that says how much is shown

  function graph(box, picked) {
    const canvas = box.querySelector(".canvas");
    let svg = null, home = null, view = null, picture = null;
    let keep = begin, size = [1, 1]; // how the view follows a box that changes, and the box it was made for
    const fingers = new Map();
    let began = null, moved = false;

    const set = () => svg && svg.setAttribute("viewBox", view.map((v) => v.toFixed(2)).join(" "));

    /** The whole picture with a margin; a small one is not blown up past readable size. */
    function whole() {
      const [wide, high] = size = [Math.max(1, box.clientWidth), Math.max(1, box.clientHeight)];
      const unit = Math.max(home[2] * 1.05 / wide, home[3] * 1.03 / Math.max(1, high - TOP), 1 / 1.5);
      const w = wide * unit, h = high * unit;
      view = [home[0] - (w - home[2]) / 2, home[1] - (h + TOP * unit - home[3]) / 2, w, h];
      set();
      return unit;
    }
    function fit() {
      if (!svg) return;
      whole();
      keep = fit;
    }

    /** What somebody moved to: the same middle at the same size. */
    function stay() {
      const [w, h] = [box.clientWidth * view[2] / size[0], box.clientHeight * view[3] / size[1]];
      view = [view[0] + (view[2] - w) / 2, view[1] + (view[3] - h) / 2, w, h];
      size = [box.clientWidth, box.clientHeight];
      set();
    }

    /** The arrow from nowhere into the first state; Graphviz would give it a node and a rank of its own. */
    function markStart() {
      const NS = "http://www.w3.org/2000/svg";
      for (const node of svg.querySelectorAll(".node.initial")) {
        const rings = [...node.querySelectorAll("ellipse")];
        if (!rings.length) continue;
        const [cx, cy] = ["cx", "cy"].map((name) => Number(rings[0].getAttribute(name)));
        const left = cx - Math.max(...rings.map((ring) => Number(ring.getAttribute("rx"))));
        const put = (d, name) => { const path = document.createElementNS(NS, "path"); path.setAttribute("d", d); path.setAttribute("class", name); node.append(path); };
        put(`M${left - 20} ${cy}H${left - 5}`, "start");
        put(`M${left} ${cy}l-7 -2.6v5.2z`, "start tip");
        home = [Math.min(home[0], left - 24), home[1], home[2] + Math.max(0, home[0] - left + 24), home[3]];
      }
    }

    /** A picture opens so that it can be read: whole if that is large enough, else from its beginning. */
    function begin() {
      if (!box.clientWidth) return; // behind another tab: it begins when it is shown
      keep = begin;
      const unit = whole();
      if (unit <= 1 / READABLE) return;
      const shrink = 1 / READABLE / unit;
      view[2] *= shrink;
      view[3] *= shrink;
      const start = picture.states.find((each) => each.id === picture.centre) || picture.states.find((each) => each.kinds.includes("initial")) || picture.states[0];
      view[0] = home[0] - view[2] * 0.02;
      view[1] = home[1] + (home[3] - view[3]) / 2;
      set();
      if (start) reveal("state-" + start.id, picture.centre ? 0.5 : 0.12);
      // no empty margin where there is picture to show
      const top = home[1] - TOP * view[3] / box.clientHeight, left = home[0] - view[2] * 0.02;
      if (view[3] < home[3]) view[1] = Math.max(top, Math.min(view[1], home[1] + home[3] - view[3]));
      if (view[2] < home[2]) view[0] = Math.max(left, Math.min(view[0], home[0] + home[2] * 1.02 - view[2]));
      set();
      keep = begin; // looking for its first state is no moving
    }

    function zoom(factor, x, y) {
      if (!view) return;
      keep = stay;
      const { left, top, width, height } = box.getBoundingClientRect();
      const fx = x === undefined ? 0.5 : (x - left) / width, fy = y === undefined ? 0.5 : (y - top) / height;
      const w = Math.min(home[2] * 8 + 2000, Math.max(60, view[2] * factor));
      const h = view[3] * (w / view[2]);
      view = [view[0] + (view[2] - w) * fx, view[1] + (view[3] - h) * fy, w, h];
      set();
    }

    function pan(dx, dy) {
      if (!view || !box.clientWidth) return;
      keep = stay;
      view[0] += dx * view[2] / box.clientWidth;
      view[1] += dy * view[3] / box.clientHeight;
      set();
    }

    box.addEventListener("wheel", (event) => {
      if (!svg) return;
      event.preventDefault();
      zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), event.clientX, event.clientY);
    }, { passive: false });

    box.addEventListener("pointerdown", (event) => {
      if (!svg || event.target.closest("button")) return;
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      began = [event.clientX, event.clientY];
      moved = false;
    });
    box.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const now = [event.clientX, event.clientY];
      if (!moved && Math.hypot(now[0] - began[0], now[1] - began[1]) < 4) return;
      if (!moved) { moved = true; box.setPointerCapture(event.pointerId); box.classList.add("drag"); }
      if (fingers.size === 1) pan(before[0] - now[0], before[1] - now[1]);
      else {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const apart = (p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
        zoom(apart(before) / apart(now), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      }
      fingers.set(event.pointerId, now);
    });
    const lift = (event) => {
      if (!fingers.delete(event.pointerId)) return;
      box.classList.remove("drag");
      if (moved || event.type !== "pointerup") return;
      const node = document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".node");
      if (node && box.contains(node)) pick(stateOf(node));
      else pick(null);
    };
    box.addEventListener("pointerup", lift);
    box.addEventListener("pointercancel", lift);
    box.addEventListener("dblclick", (event) => { if (!event.target.closest("button")) fit(); });
    box.addEventListener("keydown", (event) => {
      if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
      const acts = {
        "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), "0": fit,
        ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60),
        ".": () => step(1), ",": () => step(-1), Escape: () => pick(null),
      };
      if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
    });
    new ResizeObserver(() => { if (svg && box.clientWidth) (view ? keep : begin)(); }).observe(box);

    const stateOf = (node) => node.id.replace(/^state-/, "");
    let chosen = null;
    function pick(state) {
      chosen = state;
      for (const node of canvas.querySelectorAll(".node.picked")) node.classList.remove("picked");
      if (state !== null) element("state-" + state)?.classList.add("picked");
      picked(state);
    }
    function step(by) {
      const ids = picture ? picture.states.map((s) => s.id) : [];
      if (!ids.length) return;
      const next = (ids.indexOf(chosen) + by + ids.length) % ids.length;
      pick(ids[next]);
      reveal("state-" + ids[next]);
    }

    const element = (id) => canvas.querySelector("#" + CSS.escape(id));

    /** Bring an element into view if it is outside. */
    function reveal(id, share = 0.5) {
      const found = element(id);
      if (!found || !view) return;
      const place = found.getBoundingClientRect(), frame = box.getBoundingClientRect();
      const x = (place.left + place.right) / 2, y = (place.top + place.bottom) / 2;
      if (x > frame.left + 12 && x < frame.right - 12 && y > frame.top + 12 && y < frame.bottom - 12) return;
      pan(x - (frame.left + frame.width * share), y - (frame.top + frame.bottom) / 2);
    }

    return {
      show(next) {
        picture = next;
        view = null;
        svg = next ? parsed(next.svg) : null;
        canvas.replaceChildren(...(svg ? [svg] : []));
        chosen = null;
        if (!svg) return;
        const box4 = (svg.getAttribute("viewBox") || "0 0 100 100").split(/[\s,]+/).map(Number);
        home = box4;
        svg.removeAttribute("width");
        svg.removeAttribute("height");
        svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
        svg.setAttribute("role", "img");
        markStart();
        begin();
      },
      /** Light the states of a path and the edges between them; the first ones are where the run stands. */
      light(standing, path) {
        for (const lit of canvas.querySelectorAll(".now, .gone")) lit.classList.remove("now", "gone");
        if (!picture || !svg) return true;
        let found = false;
        for (const state of standing) {
          const place = picture.where[state];
          const shown = place && element(place);
          if (!shown) continue;
          shown.classList.add(place.startsWith("edge-") ? "gone" : "now");
          // inside a counted loop the run stands at the state the loop is drawn at
          const loop = place.startsWith("edge-") && picture.edges[Number(place.slice(5))];
          if (loop && loop.source === loop.target) element("state-" + loop.source)?.classList.add("now");
          if (!found) reveal(place);
          found = true;
        }
        // states folded into an edge light the edge; the others light what joins them
        const moments = [];
        for (const states of path) {
          const drawn = states.filter((state) => picture.where[state]?.startsWith("state-"));
          if (drawn.length) moments.push(drawn);
          for (const state of states) if (picture.where[state]?.startsWith("edge-")) element(picture.where[state])?.classList.add("gone");
        }
        picture.edges.forEach((edge, index) => {
          for (let i = 0; i + 1 < moments.length; i++) {
            if (moments[i].includes(edge.source) && moments[i + 1].includes(edge.target)) element("edge-" + index)?.classList.add("gone");
          }
        });
        return found || !standing.length;
      },
      fit, zoom, reveal,
    };
  }

  wb.graph = graph;
})();
