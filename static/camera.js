/* How a picture is looked at: the wheel, dragging, pinching and buttons move and scale it within its box. When the box
   changes, a place chosen by the reader stays; otherwise the picture is fitted again.
   d3-zoom and d3-drag (20 KB gzip; camera and drag have 7 KB) would replace the gestures of ``camera-pointer.js``
   alone: what is fitted, followed and kept, and the step to another picture beyond a scale, would stay ours. */

import { bound } from "./bound.js";
import { goTo, listen, pan, zoom } from "./camera-pointer.js";
import { stopGlide } from "./camera-state.js";
import { begin, fit, follow, reveal, showAll } from "./camera-views.js";

/** @import { Camera, Held, Opening } from "./camera-state" */

const TOP = 8; // pixels kept free above a picture

/** @type {Opening} */
const OPENING = { centre: null, wide: false, at: 0.5, x: 0, y: 0, scale: 0, height: 0, clip: true };

/** Look at a picture, whose own box is ``frame``.
    @param {Camera} camera @param {SVGSVGElement} picture @param {number[]} frame @param {Partial<Opening>} opening */
function open(camera, picture, frame, opening) {
  stopGlide(camera);
  camera.svg = picture;
  camera.home = frame;
  camera.view = [];
  camera.opening = { ...OPENING, ...opening };
  begin(camera);
}

/** @param {Camera} camera */
function close(camera) {
  stopGlide(camera);
  camera.svg = null;
}

/** ``tap`` is called with what lies under a click that moved nothing; ``grab`` returns what moves an element under
      a pointer, or null where the picture is moved; ``beyond`` with -1 or 1 where a zoom passes the smallest or the
      largest useful scale, and with what lies under it: it returns whether another picture comes; ``seen`` with the
      part of the picture that comes into view, and whether it is the whole picture.
    @param {HTMLElement} box @param {(element: Element | null) => void} tap
    @param {{ top?: number, grab?: (element: Element) => Held | null, beyond?: (by: number,
    under: Element | null) => boolean, 
      seen?: (view: number[], isWhole: boolean) => void }} [options] */
export function createCamera(box, tap, { top = TOP, grab = () => null, beyond = () => false, seen = () => {} } = {}) {
  /** @type {Camera} */
  const camera = {
    svg: null,
    opening: OPENING,
    home: [0, 0, 1, 1],
    view: [],
    keep: "begin",
    size: [1, 1],
    glide: 0,
    goal: null,
    fingers: new Map(),
    began: [0, 0],
    moved: false,
    held: null,
    turned: 0,
    hinted: false,
    box,
    tap,
    top,
    grab,
    beyond,
    seen,
  };
  listen(camera);
  return {
    ...bound(camera, { close, fit, all: showAll, zoom, pan, goTo, reveal, follow }),
    /** @param {SVGSVGElement} picture @param {number[]} frame @param {Partial<Opening>} [opening] */
    open: (picture, frame, opening = {}) => open(camera, picture, frame, opening),
  };
}
