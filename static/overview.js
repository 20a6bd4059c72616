/* The overview: a picture that is larger than its box, small in a corner, with the part that is in view and the current
   state. A click or a drag goes to another part. */

import { svgEl } from "./dom.js";

const WIDE = 168,
  HIGH = 104, // at most, in pixels
  PART = 0.3, // of the box, at most
  ALL = 0.97, // in view: no overview is needed
  AROUND = 30, // pixels of its margin and of half a state
  LOWEST = 160; // pixels of a box: in a lower one it would cover what it shows

/** @param {HTMLElement} box @param {(x: number, y: number) => void} goTo */
export function createOverview(box, goTo) {
  const lines = svgEl("path", { class: "lines" }),
    dots = svgEl("path", { class: "dots" }),
    current = svgEl("circle", { class: "current" }),
    frame = svgEl("rect", { class: "view" });
  const map = svgEl("svg", { class: "overview", "aria-hidden": "true" }, lines, dots, current, frame);
  let home = /** @type {number[] | null} */ (null),
    part = [0, 0, 1, 1], // of the picture that is in view
    marked = /** @type {SVGGraphicsElement | null} */ (null);
  map.style.display = "none";
  box.append(map);

  const numbers = (element, ...names) => names.map((name) => Number(element.getAttribute(name)));
  /** Where an element of the picture is, in the picture's own points. */
  function middle(element) {
    const { x, y, width, height } = element.getBBox(),
      root = element.ownerSVGElement?.getScreenCTM(),
      screen = element.getScreenCTM();
    if (!root || !screen) return null;
    return new DOMPoint(x + width / 2, y + height / 2).matrixTransform(root.inverse().multiply(screen));
  }
  function outline(svg) {
    const shift = svg
      .querySelector("g")
      ?.getAttribute("transform")
      ?.match(/translate\(([-\d.]+)[ ,]+([-\d.]+)\)/);
    for (const each of [lines, dots]) each.setAttribute("transform", shift ? `translate(${shift[1]} ${shift[2]})` : "");
    const edges = [...svg.querySelectorAll(".edge path:not(.hit)")].map((path) => path.getAttribute("d"));
    const rings = [...svg.querySelectorAll(".node ellipse:first-of-type")].map((ring) => {
      const [x, y, rx, ry] = numbers(ring, "cx", "cy", "rx", "ry");
      return `M${x - rx} ${y}a${rx} ${ry} 0 1 0 ${2 * rx} 0a${rx} ${ry} 0 1 0 ${-2 * rx} 0`;
    });
    const wide = [...svg.querySelectorAll(".node polygon")].map((each) => `M${each.getAttribute("points")}z`);
    const boxes = [...svg.querySelectorAll(".call rect.box, .cluster rect")].map((each) => {
      const [x, y, width, height] = numbers(each, "x", "y", "width", "height");
      return `M${x} ${y}h${width}v${height}h${-width}z`;
    });
    lines.setAttribute("d", [...edges, ...boxes].join(""));
    dots.setAttribute("d", [...rings, ...wide].join(""));
  }
  /** Put the mark on the current state; where the map is hidden it has no use. */
  function markCurrent() {
    const place = marked?.isConnected ? middle(marked) : null;
    current.style.display = place ? "" : "none";
    if (place) {
      current.setAttribute("cx", String(place.x));
      current.setAttribute("cy", String(place.y));
    }
    stepAside();
  }
  /** The map goes to the other corner where it would cover the current state. */
  function stepAside() {
    const [x, y] = numbers(current, "cx", "cy"),
      [left, top, width, height] = part;
    const across = ((x - left) / width) * box.clientWidth,
      up = (1 - (y - top) / height) * box.clientHeight;
    const covers = (size, name) => size < Number.parseFloat(map.style[name]) + AROUND;
    map.classList.toggle("aside", current.style.display !== "none" && covers(across, "width") && covers(up, "height"));
  }
  function go(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM()?.inverse());
    goTo(point.x, point.y);
  }
  map.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    map.setPointerCapture(event.pointerId);
    go(event);
  });
  map.addEventListener("pointermove", (event) => {
    if (map.hasPointerCapture(event.pointerId)) go(event);
  });

  return {
    /** Take another picture, whose own box is ``whole``; null for none.
        @param {SVGSVGElement | null} svg @param {number[]} [whole] */
    open(svg, whole) {
      home = svg && whole && svg.querySelector(".node") ? whole : null;
      marked = null;
      map.style.display = "none";
      if (!home || !svg) return;
      outline(svg);
      const [x, y, width, height] = home;
      map.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    },
    /** Show which part is in view. @param {number[]} view */
    see(view) {
      if (!home) return;
      const [left, top, wide, high] = home;
      part = view;
      const shares = [0, 1].map((axis) => {
        const [from, size] = [view[axis], view[axis + 2]];
        const [begin, whole] = axis ? [top, high] : [left, wide];
        return Math.max(0, Math.min(from + size, begin + whole) - Math.max(from, begin)) / whole;
      });
      const shows = Math.min(...shares) < ALL && box.clientHeight >= LOWEST,
        appears = shows && map.style.display === "none";
      map.style.display = shows ? "" : "none";
      if (appears) markCurrent();
      if (!shows) return;
      const scale = Math.min(
        Math.min(WIDE, box.clientWidth * PART) / wide,
        Math.min(HIGH, box.clientHeight * PART) / high,
      );
      map.style.width = `${wide * scale}px`;
      map.style.height = `${high * scale}px`;
      const [x, y] = [Math.max(left, view[0]), Math.max(top, view[1])];
      const values = {
        x,
        y,
        width: Math.max(0, Math.min(left + wide, view[0] + view[2]) - x),
        height: Math.max(0, Math.min(top + high, view[1] + view[3]) - y),
      };
      for (const [name, value] of Object.entries(values)) frame.setAttribute(name, String(value));
      current.setAttribute("r", String(4.5 / scale));
      stepAside();
    },
    /** Mark the current state. @param {SVGGraphicsElement | null} element */
    mark(element) {
      marked = element;
      if (map.style.display !== "none") markCurrent();
    },
  };
}
