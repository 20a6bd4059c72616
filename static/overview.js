/* The overview: a picture that is larger than its box, small in a corner, with the part that is in view and the current
   state. A click or a drag goes to another part. */

import { bound } from "./bound.js";
import { setAttributes, svgEl } from "./dom.js";

const WIDE = 168,
  HIGH = 104, // at most, in pixels
  PART = 0.3, // of the box, at most
  ALL = 0.97, // in view: no overview is needed
  AROUND = 30, // pixels of its margin and of half a state
  RAISED = 38, // pixels by which it is higher at the right, over the buttons
  LOWEST = 160, // pixels of a box: in a lower one it would cover what it shows
  RADIUS = 4.5; // pixels of the mark on the current state

/** ``home``: the box of the picture, in its own points; ``view``: the part that is in view; ``marked``: the current
    state in the picture; ``named``: the picture is of lanes, with their names at the left.
    @typedef {{
      box: HTMLElement, map: SVGSVGElement, lines: SVGPathElement, dots: SVGPathElement, current: SVGCircleElement,
      frame: SVGRectElement, home: number[] | null, view: number[], marked: SVGGraphicsElement | null,
      named: boolean,
    }} Overview */

/** @param {Element} element @param {string[]} names */
const numbers = (element, ...names) => names.map((name) => Number(element.getAttribute(name)));

/** @param {Overview} overview */
const isShown = ({ map }) => map.style.display !== "none";

/** Where an element of the picture is, in the picture's own points. @param {SVGGraphicsElement} element */
function middle(element) {
  const { x, y, width, height } = element.getBBox(),
    root = element.ownerSVGElement?.getScreenCTM(),
    screen = element.getScreenCTM();
  if (!root || !screen) return null;
  return new DOMPoint(x + width / 2, y + height / 2).matrixTransform(root.inverse().multiply(screen));
}

/** Draw the edges and the states of a picture. @param {Overview} overview @param {SVGSVGElement} svg */
function drawOutline({ lines, dots }, svg) {
  const [, left, top] =
    svg
      .querySelector("g")
      ?.getAttribute("transform")
      ?.match(/translate\(([-\d.]+)[ ,]+([-\d.]+)\)/) ?? [];
  for (const path of [lines, dots]) path.setAttribute("transform", left ? `translate(${left} ${top})` : "");
  /** @param {string} selector @param {(shape: Element) => string | null} path */
  const shapes = (selector, path) => [...svg.querySelectorAll(selector)].map(path);
  const edges = shapes(".edge path:not(.hit)", (path) => path.getAttribute("d"));
  const rings = shapes(".node ellipse:first-of-type", (ring) => {
    const [x, y, rx, ry] = numbers(ring, "cx", "cy", "rx", "ry");
    return `M${x - rx} ${y}a${rx} ${ry} 0 1 0 ${2 * rx} 0a${rx} ${ry} 0 1 0 ${-2 * rx} 0`;
  });
  const polygons = shapes(".node polygon", (polygon) => `M${polygon.getAttribute("points")}z`);
  const boxes = shapes(".call rect.box, .cluster rect", (rect) => {
    const [x, y, width, height] = numbers(rect, "x", "y", "width", "height");
    return `M${x} ${y}h${width}v${height}h${-width}z`;
  });
  lines.setAttribute("d", [...edges, ...boxes].join(""));
  dots.setAttribute("d", [...rings, ...polygons].join(""));
}

/** Put the mark on the current state; where the map is hidden it has no use. @param {Overview} overview */
function markCurrent(overview) {
  const { current, marked } = overview,
    point = marked?.isConnected ? middle(marked) : null;
  current.style.display = point ? "" : "none";
  if (point) setAttributes(current, { cx: point.x, cy: point.y });
  stepAside(overview);
}

/** The map is at the left, but of lanes, whose names are there, at the right; it goes to the other
    corner where it would cover the current state. @param {Overview} overview */
function stepAside({ box, map, current, view, named }) {
  const [x, y] = numbers(current, "cx", "cy"),
    [left, top, width, height] = view;
  const part = (x - left) / width,
    across = (named ? 1 - part : part) * box.clientWidth,
    up = (1 - (y - top) / height) * box.clientHeight - (named ? RAISED : 0);
  const covers = (/** @type {number} */ size, /** @type {"width" | "height"} */ name) =>
    size < Number.parseFloat(map.style[name]) + AROUND;
  const covered = current.style.display !== "none" && covers(across, "width") && covers(up, "height");
  map.classList.toggle("aside", covered !== named);
}

/** Take another picture, whose own box is ``whole``; null for none.
    @param {Overview} overview @param {SVGSVGElement | null} svg @param {number[]} [whole] */
function open(overview, svg, whole) {
  overview.home = svg && whole && svg.querySelector(".node") ? whole : null;
  overview.marked = null;
  overview.map.style.display = "none";
  if (!overview.home || !svg) return;
  overview.named = svg.classList.contains("lanes");
  drawOutline(overview, svg);
  overview.map.setAttribute("viewBox", overview.home.join(" "));
}

/** Where a part begins and ends along an axis of the picture, within the picture.
    @param {number[]} home @param {number[]} view @param {number} axis */
function visibleRange(home, view, axis) {
  const begin = Math.max(home[axis], view[axis]),
    end = Math.min(home[axis] + home[axis + 2], view[axis] + view[axis + 2]);
  return { begin, length: Math.max(0, end - begin) };
}

/** Show which part is in view. @param {Overview} overview @param {number[]} view */
function see(overview, view) {
  const { box, home, map, current, frame } = overview;
  if (!home) return;
  overview.view = view;
  const [across, down] = [0, 1].map((axis) => visibleRange(home, view, axis));
  const [, , wide, high] = home,
    share = Math.min(across.length / wide, down.length / high);
  const shows = share < ALL && box.clientHeight >= LOWEST,
    appears = shows && !isShown(overview);
  map.style.display = shows ? "" : "none";
  if (appears) markCurrent(overview);
  if (!shows) return;
  const scale = Math.min(Math.min(WIDE, box.clientWidth * PART) / wide, Math.min(HIGH, box.clientHeight * PART) / high);
  map.style.width = `${wide * scale}px`;
  map.style.height = `${high * scale}px`;
  setAttributes(frame, { x: across.begin, y: down.begin, width: across.length, height: down.length });
  current.setAttribute("r", String(RADIUS / scale));
  stepAside(overview);
}

/** @param {Overview} overview @param {(x: number, y: number) => void} goTo */
function listen({ map }, goTo) {
  const go = (/** @type {PointerEvent} */ event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM()?.inverse());
    goTo(point.x, point.y);
  };
  map.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    map.setPointerCapture(event.pointerId);
    go(event);
  });
  map.addEventListener("pointermove", (event) => {
    if (map.hasPointerCapture(event.pointerId)) go(event);
  });
}

/** @param {HTMLElement} box @param {(x: number, y: number) => void} goTo */
export function createOverview(box, goTo) {
  const lines = svgEl("path", { class: "lines" }),
    dots = svgEl("path", { class: "dots" }),
    current = svgEl("circle", { class: "current" }),
    frame = svgEl("rect", { class: "view" });
  const map = svgEl("svg", { class: "overview", "aria-hidden": "true" }, lines, dots, current, frame);
  /** @type {Overview} */
  const overview = {
    box,
    map,
    lines,
    dots,
    current,
    frame,
    home: null,
    view: [0, 0, 1, 1],
    marked: null,
    named: false,
  };
  map.style.display = "none";
  box.append(map);
  listen(overview, goTo);
  return {
    ...bound(overview, { open, see }),
    /** Mark the current state. @param {SVGGraphicsElement | null} element */
    mark(element) {
      overview.marked = element;
      if (isShown(overview)) markCurrent(overview);
    },
  };
}
