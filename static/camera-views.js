/* The views of a picture: as it opens, the whole of it, around an element, and what stays when its box changes. */

import { goToView, isLarge, LEAST, largest, showView, stopGlide, unclip } from "./camera-state.js";

/** @import { Camera } from "./camera-state" */

const READABLE = 0.85; // pixels a point: 11-point labels are then 9.3 pixels high

/** The width and the height of a box, which are 0 where it is not shown. @param {HTMLElement} box */
const sizeOf = ({ clientWidth, clientHeight }) => [Math.max(1, clientWidth), Math.max(1, clientHeight)];

/** The whole picture with a margin; a small one is not blown up past readable size. @param {Camera} camera */
function viewWhole(camera) {
  const { box, home, top } = camera,
    [wide, high] = sizeOf(box);
  const unit = Math.max((home[2] * 1.05) / wide, (home[3] * 1.03) / Math.max(1, high - top), 1 / largest(camera));
  const w = wide * unit,
    h = high * unit;
  camera.size = [wide, high];
  camera.view = [home[0] - (w - home[2]) / 2, home[1] - (h + top * unit - home[3]) / 2, w, h];
  return unit;
}

/** A picture opens so that it can be read: whole if that is large enough, else around its centre.
    @param {Camera} camera */
export function begin(camera) {
  if (!camera.svg || camera.box.clientWidth < LEAST) return; // behind another tab: it begins when it is shown
  stopGlide(camera);
  camera.keep = "begin";
  const { home, opening } = camera,
    { centre, wide, at, scale, height } = opening;
  if (wide) {
    showAcross(camera);
    return;
  }
  if (height && !isLarge(camera)) {
    showPart(camera);
    return;
  }
  const unit = viewWhole(camera);
  if (!scale && unit > 1 / READABLE) {
    const w = camera.view[2] / READABLE / unit,
      h = camera.view[3] / READABLE / unit;
    camera.view = [home[0] - w * 0.02, home[1] + (home[3] - h) / 2, w, h];
    showView(camera);
    if (centre) camera.view = viewTowards(camera, centre, at);
    clamp(camera);
  }
  showView(camera);
}

/** As it opened: the layout chose what can be read. @param {Camera} camera */
export function fit(camera) {
  if (!camera.svg) return;
  begin(camera);
}

/** The whole picture, however small it becomes. @param {Camera} camera */
export function showAll(camera) {
  if (!camera.svg || camera.box.clientWidth < LEAST) return;
  stopGlide(camera);
  unclip(camera);
  camera.keep = "all";
  viewWhole(camera);
  showView(camera);
}

/** The view the reader moved to: the same middle at the same size. @param {Camera} camera */
function stay(camera) {
  if (camera.glide) {
    stopGlide(camera);
    if (camera.goal) camera.view = camera.goal;
  }
  const { box, view, size } = camera,
    w = (box.clientWidth * view[2]) / size[0],
    h = (box.clientHeight * view[3]) / size[1];
  camera.view = [view[0] + (view[2] - w) / 2, view[1] + (view[3] - h) / 2, w, h];
  camera.size = [box.clientWidth, box.clientHeight];
  showView(camera);
}

/** The part of a large picture that its layout chose: whole rows, and nothing that is cut. @param {Camera} camera */
function showPart(camera) {
  const { x, y, scale, height, clip } = camera.opening;
  camera.size = sizeOf(camera.box);
  camera.view = [x, y, camera.size[0] / scale, camera.size[1] / scale];
  showView(camera);
  const below = camera.size[1] - height * scale;
  if (camera.svg)
    camera.svg.style.clipPath =
      clip && height < camera.home[3] - 1 && below > 1 ? `inset(0 0 ${below.toFixed(1)}px 0)` : "";
}

/** A tall picture is as wide as its box, and begins at its top. @param {Camera} camera */
function showAcross(camera) {
  const { home, top, svg } = camera,
    [wide, high] = sizeOf(camera.box);
  const unit = Math.min(Math.max((home[2] * 1.05) / wide, 1 / largest(camera)), 1 / READABLE),
    left = Math.min(home[0], home[0] - (wide * unit - home[2]) / 2);
  camera.size = [wide, high];
  camera.view = [left, home[1] - (top + 6) * unit, wide * unit, high * unit];
  showView(camera);
  // nothing that is cut is shown: the picture ends above the first line that does not fit
  const frame = camera.box.getBoundingClientRect();
  const cut = [...(svg?.querySelectorAll("text") ?? [])]
    .map((text) => text.getBoundingClientRect())
    .filter((r) => r.height && r.top < frame.bottom && r.bottom > frame.bottom - 1);
  if (svg && cut.length)
    svg.style.clipPath = `inset(0 0 ${Math.ceil(frame.bottom - Math.min(...cut.map((r) => r.top)) + 2)}px 0)`;
}

/** No empty margin where there is picture to show; a picture smaller than the box is centred.
    @param {Camera} camera */
function clamp({ box, home, top, view }) {
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

/** Where an element is, in the picture's own points; its marks alone, not its labels.
    @param {Camera} camera @param {Element} element */
function centreOf(camera, element) {
  const mark = element.querySelector("ellipse, polygon, path, rect") || element;
  const found = mark.getBoundingClientRect(),
    onScreen = camera.svg?.getScreenCTM();
  if (!onScreen || (!found.width && !found.height)) return null;
  const at = new DOMPoint((found.left + found.right) / 2, (found.top + found.bottom) / 2).matrixTransform(
    onScreen.inverse(),
  );
  return [at.x, at.y];
}

/** The same with the margin that this leaves. @param {Camera} camera @param {Element} element */
function viewTowards(camera, element, share = 0.5) {
  const found = centreOf(camera, element);
  if (!found) return [...camera.view];
  return [
    found[0] - camera.view[2] * share,
    found[1] - camera.view[3] * 0.5 - (camera.top * camera.view[3]) / camera.box.clientHeight / 2,
    camera.view[2],
    camera.view[3],
  ];
}

/** The view with an element at a share of its width and in the middle of its height, without a margin where there
    is picture to show. @param {Camera} camera @param {Element} element */
function clamped(camera, element, share = 0.5) {
  const before = camera.view;
  camera.view = viewTowards(camera, element, share);
  clamp(camera);
  const next = camera.view;
  camera.view = before;
  return next;
}

/** The box has another size. @param {Camera} camera */
export function keepView(camera) {
  if (!camera.view.length || camera.keep === "begin") begin(camera);
  else if (camera.keep === "stay") stay(camera);
  else showAll(camera);
}

/** Whether an element is wholly in view. @param {Camera} camera @param {Element} element */
function isInside(camera, element) {
  const mark = (element.querySelector("ellipse, rect, polygon, path") || element).getBoundingClientRect(),
    frame = camera.box.getBoundingClientRect();
  return mark.left >= frame.left && mark.right <= frame.right && mark.top >= frame.top && mark.bottom <= frame.bottom;
}

/** Bring an element into view if it is outside; what was fitted stays fitted.
    @param {Camera} camera @param {Element | null} element */
export function reveal(camera, element, { share = 0.5, smooth = true, margin = 12 } = {}) {
  if (!element || !camera.view.length || !camera.svg) return;
  const found = element.getBoundingClientRect(),
    frame = camera.box.getBoundingClientRect();
  const x = (found.left + found.right) / 2,
    y = (found.top + found.bottom) / 2;
  if (
    !camera.glide &&
    x > frame.left + margin &&
    x < frame.right - margin &&
    y > frame.top + margin &&
    y < frame.bottom - margin
  )
    return;
  camera.keep = "stay";
  goToView(camera, clamped(camera, element, share), smooth);
}

/** Bring an element to the middle, unless all of the picture is seen anyway.
    @param {Camera} camera @param {Element | null} element */
export function follow(camera, element, smooth = true) {
  if (!element || !camera.view.length || !camera.svg) return;
  const all = camera.view[2] >= camera.home[2] && camera.view[3] >= camera.home[3];
  if (all || (camera.keep === "begin" && isInside(camera, element))) return;
  const wanted = clamped(camera, element);
  camera.keep = "stay";
  if (Math.hypot(wanted[0] - camera.view[0], wanted[1] - camera.view[1]) > 2) goToView(camera, wanted, smooth);
}
