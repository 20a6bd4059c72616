/* How a picture is looked at: the wheel, dragging, pinching and buttons move and scale it within its box. When the box
   changes, a place chosen by the reader stays; otherwise the picture is fitted again. */

import { el, targetOf } from "./dom.js";

const READABLE = 0.85; // pixels a point: 11-point labels are then 9.3 pixels high
const LARGEST = 1.5;
export const PROJECTED = 2.4; // the largest on the whole screen, which is read from far away
const FAR = 1.6,
  NEAR = 2.6; // times the whole picture, and pixels a point: beyond them another level says more
const LEAST = 40; // pixels of a box that is laid out
const TOP = 8; // pixels kept free above a picture
const SLACK = 4; // points of a picture's own margin, which may be out of view
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** ``tap`` is called with what lies under a click that moved nothing; ``grab`` returns what moves an element under
      a pointer, or null where the picture is moved; ``beyond`` with -1 or 1 where a zoom passes the smallest or the
      largest useful scale, and with what lies under it: it returns whether another picture comes; ``seen`` with the
      part of the picture that comes into view, and whether it is the whole picture.
    @param {HTMLElement} box @param {(element: Element | null) => void} tap
    @param {{ top?: number, grab?: (element: EventTarget) => any,
      beyond?: (by: number, under: Element | null) => boolean, seen?: (view: number[], isWhole: boolean) => void }} [options] */
export function createCamera(box, tap, { top = TOP, grab = () => null, beyond = () => false, seen = () => {} } = {}) {
  let svg = /** @type {any} */ (null),
    opening = /** @type {any} */ (null);
  // the whole picture, and the part that is shown: left, top, width, height
  let home = /** @type {any} */ (null),
    view = /** @type {any} */ (null);
  let keep = begin,
    size = [1, 1]; // how the view follows a box that changes, and the box it was made for
  let glide = 0,
    goal = /** @type {number[] | null} */ (null); // a move under way, and where it ends
  const fingers = new Map();
  let began = /** @type {any} */ (null),
    moved = false,
    held = /** @type {any} */ (null); // ``held``: what a single finger moves instead of the picture

  const isLarge = () => Boolean(box.closest(".fullscreen")),
    largest = () => (isLarge() ? PROJECTED : LARGEST);
  const set = () => {
    svg?.setAttribute("viewBox", view.map((v) => v.toFixed(2)).join(" "));
    seen(view, isWhole());
  };
  /** Whether nothing of the picture is outside the view, up to the border of a label. */
  const isWhole = () =>
    [0, 1].every(
      (axis) => view[axis] <= home[axis] + SLACK && view[axis] + view[axis + 2] >= home[axis] + home[axis + 2] - SLACK,
    );
  const still = () => {
    cancelAnimationFrame(glide);
    glide = 0;
  };
  const unclip = () => {
    if (svg) svg.style.clipPath = "";
  };

  /** Go to another view, in a quarter of a second where that is wanted. */
  function go(next, smooth) {
    still();
    unclip();
    if (!smooth || calm.matches || document.hidden) {
      view = next;
      set();
      return;
    }
    const from = [...view],
      start = performance.now();
    goal = next;
    const step = (now) => {
      const t = Math.min(1, (now - start) / 260),
        eased = 1 - (1 - t) ** 3;
      view = from.map((v, i) => v + (next[i] - v) * eased);
      set();
      glide = t < 1 ? requestAnimationFrame(step) : 0;
    };
    glide = requestAnimationFrame(step);
  }

  /** The whole picture with a margin; a small one is not blown up past readable size. */
  function whole() {
    size = [Math.max(1, box.clientWidth), Math.max(1, box.clientHeight)];
    const [wide, high] = size;
    const unit = Math.max((home[2] * 1.05) / wide, (home[3] * 1.03) / Math.max(1, high - top), 1 / largest());
    const w = wide * unit,
      h = high * unit;
    view = [home[0] - (w - home[2]) / 2, home[1] - (h + top * unit - home[3]) / 2, w, h];
    return unit;
  }
  /** As it opened: the layout chose what can be read. */
  function fit() {
    if (!svg) return;
    begin();
  }
  /** The whole picture, however small it becomes. */
  function all() {
    if (!svg || box.clientWidth < LEAST) return;
    still();
    unclip();
    keep = all;
    whole();
    set();
  }

  /** The view the reader moved to: the same middle at the same size. */
  function stay() {
    if (glide) {
      still();
      if (goal) view = goal;
    }
    const [w, h] = [(box.clientWidth * view[2]) / size[0], (box.clientHeight * view[3]) / size[1]];
    view = [view[0] + (view[2] - w) / 2, view[1] + (view[3] - h) / 2, w, h];
    size = [box.clientWidth, box.clientHeight];
    set();
  }

  /** A picture opens so that it can be read: whole if that is large enough, else around its centre. */
  function begin() {
    if (!svg || box.clientWidth < LEAST) return; // behind another tab: it begins when it is shown
    still();
    keep = begin;
    const { centre, wide, at, scale } = opening;
    if (wide) {
      across();
      return;
    }
    if (opening.height && !isLarge()) {
      part();
      return;
    }
    if (scale) {
      whole();
      set();
      return;
    }
    const unit = whole(),
      readable = READABLE;
    if (unit > 1 / readable) {
      const shrink = 1 / readable / unit;
      view[2] *= shrink;
      view[3] *= shrink;
      view[0] = home[0] - view[2] * 0.02;
      view[1] = home[1] + (home[3] - view[3]) / 2;
      set();
      if (centre) view = towards(centre, at);
      clamp();
    }
    set();
  }
  /** The part of a large picture that its layout chose: whole rows, and nothing that is cut. */
  function part() {
    const { x, y, scale, height } = opening;
    size = [Math.max(1, box.clientWidth), Math.max(1, box.clientHeight)];
    view = [x, y, size[0] / scale, size[1] / scale];
    set();
    const below = size[1] - height * scale;
    svg.style.clipPath = opening.clip && height < home[3] - 1 && below > 1 ? `inset(0 0 ${below.toFixed(1)}px 0)` : "";
  }
  /** A tall picture is as wide as its box, and begins at its top. */
  function across() {
    size = [Math.max(1, box.clientWidth), Math.max(1, box.clientHeight)];
    const unit = Math.min(Math.max((home[2] * 1.05) / size[0], 1 / largest()), 1 / READABLE);
    view = [
      Math.min(home[0], home[0] - (size[0] * unit - home[2]) / 2),
      home[1] - (top + 6) * unit,
      size[0] * unit,
      size[1] * unit,
    ];
    set();
    // nothing that is cut is shown: the picture ends above the first line that does not fit
    const frame = box.getBoundingClientRect();
    const cut = [...svg.querySelectorAll("text")]
      .map((text) => text.getBoundingClientRect())
      .filter((r) => r.height && r.top < frame.bottom && r.bottom > frame.bottom - 1);
    if (cut.length)
      svg.style.clipPath = `inset(0 0 ${Math.ceil(frame.bottom - Math.min(...cut.map((r) => r.top)) + 2)}px 0)`;
  }
  /** No empty margin where there is picture to show; a picture smaller than the box is centred. */
  function clamp() {
    const unit = view[3] / box.clientHeight,
      up = home[1] - top * unit,
      left = home[0] - view[2] * 0.02;
    const high = home[3] + top * unit,
      wide = home[2] * 1.04;
    view[1] = view[3] < high ? Math.max(up, Math.min(view[1], home[1] + home[3] - view[3])) : up - (view[3] - high) / 2;
    view[0] =
      view[2] < wide
        ? Math.max(left, Math.min(view[0], home[0] + home[2] * 1.02 - view[2]))
        : home[0] - (view[2] - home[2]) / 2;
  }

  /** Where an element is, in the picture's own points; its marks alone, not its labels. */
  function place(element) {
    const mark = element.querySelector("ellipse, polygon, path, rect") || element;
    const found = mark.getBoundingClientRect(),
      onScreen = svg.getScreenCTM();
    if (!onScreen || (!found.width && !found.height)) return null;
    const at = new DOMPoint((found.left + found.right) / 2, (found.top + found.bottom) / 2).matrixTransform(
      onScreen.inverse(),
    );
    return [at.x, at.y];
  }
  /** The view with an element at a share of its width and in the middle of its height, without a margin where there
      is picture to show. */
  function clamped(element, share) {
    const before = view;
    view = towards(element, share);
    clamp();
    const next = view;
    view = before;
    return next;
  }
  /** The same with the margin that this leaves. */
  function towards(element, share = 0.5) {
    const found = place(element);
    if (!found) return [...view];
    return [
      found[0] - view[2] * share,
      found[1] - view[3] * 0.5 - (top * view[3]) / box.clientHeight / 2,
      view[2],
      view[3],
    ];
  }

  let turned = 0; // when a zoom last went to another level: the rest of the same gesture does nothing
  function zoom(factor, x, y) {
    if (!view) return;
    if (x !== undefined && performance.now() - turned < 300) {
      turned = performance.now();
      return;
    }
    still();
    unclip();
    keep = stay;
    const { left, top: above, width, height } = box.getBoundingClientRect();
    const fx = x === undefined ? 0.5 : (x - left) / width,
      fy = y === undefined ? 0.5 : (y - above) / height;
    const w = Math.min(home[2] * 8 + 2000, Math.max(60, view[2] * factor));
    const h = view[3] * (w / view[2]);
    view = [view[0] + (view[2] - w) * fx, view[1] + (view[3] - h) * fy, w, h];
    set();
    const passed = w > FAR * Math.max(home[2], width / largest()) && h > FAR * home[3] ? -1 : width / w > NEAR ? 1 : 0;
    if (
      passed &&
      passed > 0 === factor < 1 &&
      beyond(passed, document.elementFromPoint(left + fx * width, above + fy * height))
    )
      turned = performance.now();
  }
  function pan(dx, dy) {
    if (!view || !box.clientWidth) return;
    still();
    unclip();
    keep = stay;
    view[0] += (dx * view[2]) / box.clientWidth;
    view[1] += (dy * view[3]) / box.clientHeight;
    set();
  }

  let hinted = false;
  box.addEventListener(
    "wheel",
    (event) => {
      if (!svg) return;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), event.clientX, event.clientY);
        return;
      }
      // a picture that is only tall scrolls first, and the page after it
      if (opening?.wide) {
        const end = home[1] + home[3] + (top * view[3]) / size[1] - view[3],
          begin = home[1] - ((top + 6) * view[3]) / size[1];
        if (event.deltaY > 0 ? view[1] < end - 1 : view[1] > begin + 1) {
          event.preventDefault();
          pan(0, event.deltaY);
        }
        return;
      }
      if (hinted) return;
      hinted = true;
      const hint = el(
        "p",
        { class: "wheelhint" },
        `${/Mac/.test(navigator.platform) ? "⌘" : "Ctrl"} + wheel zooms; drag to move`,
      );
      box.append(hint);
      setTimeout(() => hint.remove(), 2200);
    },
    { passive: false },
  );
  box.addEventListener("pointerdown", (event) => {
    if (!svg || targetOf(event).closest("button, input, .stack")) return;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    began = [event.clientX, event.clientY];
    moved = false;
    held?.drop();
    held = fingers.size === 1 ? grab(targetOf(event)) : null;
  });
  box.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    if (!moved && Math.hypot(now[0] - began[0], now[1] - began[1]) < 4) return;
    if (!moved) {
      moved = true;
      box.setPointerCapture(event.pointerId);
      box.classList.add("drag");
    }
    if (held) held.move(now[0] - before[0], now[1] - before[1]);
    else if (fingers.size === 1) pan(before[0] - now[0], before[1] - now[1]);
    else {
      const [, other] = [...fingers].find(([id]) => id !== event.pointerId) ?? [];
      const apart = (p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
      zoom(apart(before) / apart(now), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    fingers.set(event.pointerId, now);
  });
  // touch-action does not apply to parts of an SVG: without this the page would scroll under a finger that moves a
  // state
  box.addEventListener(
    "touchmove",
    (event) => {
      if (held) event.preventDefault();
    },
    { passive: false },
  );
  const lift = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    box.classList.remove("drag");
    held?.drop();
    held = null;
    if (!moved && event.type === "pointerup") tap(document.elementFromPoint(event.clientX, event.clientY));
  };
  box.addEventListener("pointerup", lift);
  box.addEventListener("pointercancel", lift);
  box.addEventListener("dblclick", (event) => {
    if (!targetOf(event).closest("button, .node, .edge")) fit();
  });
  new ResizeObserver(() => {
    if (svg && box.clientWidth >= LEAST) (view ? keep : begin)();
  }).observe(box);

  /** Whether an element is wholly in view. */
  function inside(element) {
    const mark = (element.querySelector("ellipse, rect, polygon, path") || element).getBoundingClientRect(),
      frame = box.getBoundingClientRect();
    return mark.left >= frame.left && mark.right <= frame.right && mark.top >= frame.top && mark.bottom <= frame.bottom;
  }

  return {
    /** Look at a picture: ``frame`` is its own box, ``centre`` the element it opens at, ``wide`` that it is read from
        top to bottom, ``clip`` that rows which do not fit are left out. */
    open(
      picture,
      frame,
      { centre = null, wide = false, at = 0.5, x = 0, y = 0, scale = 0, height = 0, clip = true } = {},
    ) {
      still();
      svg = picture;
      home = frame;
      view = null;
      opening = { centre, wide, at, x, y, scale, height, clip };
      begin();
    },
    close() {
      still();
      svg = null;
    },
    fit,
    all,
    zoom,
    pan,
    /** Bring a place of the picture to the middle. */
    goTo(x, y) {
      if (view)
        pan(((x - view[0]) / view[2] - 0.5) * box.clientWidth, ((y - view[1]) / view[3] - 0.5) * box.clientHeight);
    },
    /** Bring an element into view if it is outside; what was fitted stays fitted. */
    reveal(element, { share = 0.5, smooth = true, margin = 12 } = {}) {
      if (!element || !view || !svg) return;
      const found = element.getBoundingClientRect(),
        frame = box.getBoundingClientRect();
      const x = (found.left + found.right) / 2,
        y = (found.top + found.bottom) / 2;
      if (
        !glide &&
        x > frame.left + margin &&
        x < frame.right - margin &&
        y > frame.top + margin &&
        y < frame.bottom - margin
      )
        return;
      keep = stay;
      go(clamped(element, share), smooth);
    },
    /** Bring an element to the middle, unless all of the picture is seen anyway. */
    follow(element, smooth = true) {
      if (!element || !view || !svg) return;
      const all = view[2] >= home[2] && view[3] >= home[3];
      if (all || (keep === begin && inside(element))) return;
      const wanted = clamped(element);
      keep = stay;
      if (Math.hypot(wanted[0] - view[0], wanted[1] - view[1]) > 2) go(wanted, smooth);
    },
  };
}
