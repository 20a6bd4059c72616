/* Moves and scales a picture with the wheel, the mouse and with fingers. */

import { LEAST, largest, showView, stopGlide, unclip } from "./camera-state.js";
import { fit, keepView } from "./camera-views.js";
import { el, targetOf } from "./dom.js";

/** @import { Camera } from "./camera-state" */

const FAR = 1.6;
const NEAR = 2.6; // times the whole picture, and pixels a point: beyond them another level says more

/** @param {Camera} camera @param {number} factor @param {number} [x] @param {number} [y] */
export function zoom(camera, factor, x, y) {
  if (!camera.view.length) return;
  if (x !== undefined && performance.now() - camera.turned < 300) {
    camera.turned = performance.now();
    return;
  }
  stopGlide(camera);
  unclip(camera);
  camera.keep = "stay";
  const { left, top: above, width, height } = camera.box.getBoundingClientRect();
  const fx = x === undefined ? 0.5 : (x - left) / width,
    fy = y === undefined ? 0.5 : (y - above) / height;
  const w = Math.min(camera.home[2] * 8 + 2000, Math.max(60, camera.view[2] * factor));
  const h = camera.view[3] * (w / camera.view[2]);
  camera.view = [camera.view[0] + (camera.view[2] - w) * fx, camera.view[1] + (camera.view[3] - h) * fy, w, h];
  showView(camera);
  const passed =
    w > FAR * Math.max(camera.home[2], width / largest(camera)) && h > FAR * camera.home[3]
      ? -1
      : width / w > NEAR
        ? 1
        : 0;
  if (
    passed &&
    passed > 0 === factor < 1 &&
    camera.beyond(passed, document.elementFromPoint(left + fx * width, above + fy * height))
  )
    camera.turned = performance.now();
}

/** @param {Camera} camera @param {number} dx @param {number} dy */
export function pan(camera, dx, dy) {
  if (!camera.view.length || !camera.box.clientWidth) return;
  stopGlide(camera);
  unclip(camera);
  camera.keep = "stay";
  camera.view[0] += (dx * camera.view[2]) / camera.box.clientWidth;
  camera.view[1] += (dy * camera.view[3]) / camera.box.clientHeight;
  showView(camera);
}

/** @param {Camera} camera @param {WheelEvent} event */
function turnWheel(camera, event) {
  if (!camera.svg) return;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(camera, Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), event.clientX, event.clientY);
    return;
  }
  // a picture that is only tall scrolls first, and the page after it
  if (camera.opening?.wide) {
    const end = camera.home[1] + camera.home[3] + (camera.top * camera.view[3]) / camera.size[1] - camera.view[3],
      first = camera.home[1] - ((camera.top + 6) * camera.view[3]) / camera.size[1];
    if (event.deltaY > 0 ? camera.view[1] < end - 1 : camera.view[1] > first + 1) {
      event.preventDefault();
      pan(camera, 0, event.deltaY);
    }
    return;
  }
  if (!camera.hinted) showHint(camera);
}

/** @param {Camera} camera */
function showHint(camera) {
  camera.hinted = true;
  const key = /Mac/.test(navigator.platform) ? "⌘" : "Ctrl";
  const hint = el("p.wheelhint", `${key} + wheel zooms; drag to move`);
  camera.box.append(hint);
  setTimeout(() => hint.remove(), 2200);
}

/** @param {Camera} camera @param {PointerEvent} event */
function pressPointer(camera, event) {
  if (!camera.svg || targetOf(event).closest("button, input, .stack")) return;
  camera.fingers.set(event.pointerId, [event.clientX, event.clientY]);
  camera.began = [event.clientX, event.clientY];
  camera.moved = false;
  camera.held?.drop();
  camera.held = camera.fingers.size === 1 ? camera.grab(targetOf(event)) : null;
}

/** @param {Camera} camera @param {PointerEvent} event */
function movePointer(camera, event) {
  const before = camera.fingers.get(event.pointerId);
  if (!before) return;
  const now = [event.clientX, event.clientY];
  if (!camera.moved && Math.hypot(now[0] - camera.began[0], now[1] - camera.began[1]) < 4) return;
  if (!camera.moved) {
    camera.moved = true;
    camera.box.setPointerCapture(event.pointerId);
    camera.box.classList.add("drag");
  }
  if (camera.held) camera.held.move(now[0] - before[0], now[1] - before[1]);
  else if (camera.fingers.size === 1) pan(camera, before[0] - now[0], before[1] - now[1]);
  else {
    const other = [...camera.fingers].find(([id]) => id !== event.pointerId)?.[1] ?? now;
    const apart = (/** @type {number[]} */ p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
    zoom(camera, apart(before) / apart(now), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }
  camera.fingers.set(event.pointerId, now);
}

/** @param {Camera} camera @param {PointerEvent} event */
function liftPointer(camera, event) {
  if (!camera.fingers.delete(event.pointerId)) return;
  camera.box.classList.remove("drag");
  camera.held?.drop();
  camera.held = null;
  if (!camera.moved && event.type === "pointerup") camera.tap(document.elementFromPoint(event.clientX, event.clientY));
}

/** @param {Camera} camera */
export function listen(camera) {
  camera.box.addEventListener("wheel", (event) => turnWheel(camera, event), { passive: false });
  camera.box.addEventListener("pointerdown", (event) => pressPointer(camera, event));
  camera.box.addEventListener("pointermove", (event) => movePointer(camera, event));
  // touch-action does not apply to parts of an SVG: without this the page would scroll under a finger that moves a
  // state
  camera.box.addEventListener(
    "touchmove",
    (event) => {
      if (camera.held) event.preventDefault();
    },
    { passive: false },
  );
  camera.box.addEventListener("pointerup", (event) => liftPointer(camera, event));
  camera.box.addEventListener("pointercancel", (event) => liftPointer(camera, event));
  camera.box.addEventListener("dblclick", (event) => {
    if (!targetOf(event).closest("button, .node, .edge")) fit(camera);
  });
  new ResizeObserver(() => {
    if (camera.svg && camera.box.clientWidth >= LEAST) keepView(camera);
  }).observe(camera.box);
}

/** Bring a place of the picture to the middle. @param {Camera} camera @param {number} x @param {number} y */
export function goTo(camera, x, y) {
  if (camera.view.length)
    pan(
      camera,
      ((x - camera.view[0]) / camera.view[2] - 0.5) * camera.box.clientWidth,
      ((y - camera.view[1]) / camera.view[3] - 0.5) * camera.box.clientHeight,
    );
}
