/* The state of a camera: the picture, the part of it that is shown, and a move under way. */

/** How a picture opens: ``centre`` is the element it opens at, ``wide`` that it is read from top to bottom, ``clip``
    that rows which do not fit are left out; the others are those of its layout.
    @typedef {{ centre: Element | null, wide: boolean, at: number, x: number, y: number, scale: number, height: number,
      clip: boolean }} Opening
    @typedef {{ move(dx: number, dy: number): void, drop(): void }} Held what a finger moves instead of the picture */

/** ``home`` is the whole picture and ``view`` the part that is shown, empty before one is: left, top, width, height.
    ``keep``: how the view follows a box that changes, and ``size`` the box it was made for; ``glide`` is a move under
    way, and ``goal`` where it ends; ``turned``: when a zoom last went to another level, after which the rest of the
    same gesture does nothing.
    @typedef {{
      svg: SVGSVGElement | null, opening: Opening, home: number[], view: number[], keep: "begin" | "stay" | "all",
      size: number[], glide: number, goal: number[] | null, fingers: Map<number, number[]>, began: number[],
      moved: boolean, held: Held | null, turned: number, hinted: boolean, box: HTMLElement,
      tap: (element: Element | null) => void, top: number, grab: (element: Element) => Held | null,
      beyond: (by: number, under: Element | null) => boolean, seen: (view: number[], isWhole: boolean) => void,
    }} Camera */

const LARGEST = 1.5;
export const PROJECTED = 2.4; // the largest on the whole screen, which is read from far away
export const LEAST = 40; // pixels of a box that is laid out
const SLACK = 4; // points of a picture's own margin, which may be out of view
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** @param {Camera} camera */
export const isLarge = (camera) => Boolean(camera.box.closest(".fullscreen"));

/** @param {Camera} camera */
export const largest = (camera) => (isLarge(camera) ? PROJECTED : LARGEST);

/** The view as it is now. @param {Camera} camera */
export const showView = (camera) => {
  camera.svg?.setAttribute("viewBox", camera.view.map((v) => v.toFixed(2)).join(" "));
  camera.seen(camera.view, isWhole(camera));
};

/** Whether nothing of the picture is outside the view, up to the border of a label. @param {Camera} camera */
const isWhole = (camera) =>
  [0, 1].every(
    (axis) =>
      camera.view[axis] <= camera.home[axis] + SLACK &&
      camera.view[axis] + camera.view[axis + 2] >= camera.home[axis] + camera.home[axis + 2] - SLACK,
  );

/** @param {Camera} camera */
export const stopGlide = (camera) => {
  cancelAnimationFrame(camera.glide);
  camera.glide = 0;
};

/** @param {Camera} camera */
export const unclip = (camera) => {
  if (camera.svg) camera.svg.style.clipPath = "";
};

/** Go to another view, in a quarter of a second where that is wanted.
    @param {Camera} camera @param {number[]} next @param {boolean} smooth */
export function goToView(camera, next, smooth) {
  stopGlide(camera);
  unclip(camera);
  if (!smooth || calm.matches || document.hidden) {
    camera.view = next;
    showView(camera);
    return;
  }
  const from = [...camera.view],
    start = performance.now();
  camera.goal = next;
  const step = (/** @type {number} */ now) => {
    const t = Math.min(1, (now - start) / 260),
      eased = 1 - (1 - t) ** 3;
    camera.view = from.map((v, i) => v + (next[i] - v) * eased);
    showView(camera);
    camera.glide = t < 1 ? requestAnimationFrame(step) : 0;
  };
  camera.glide = requestAnimationFrame(step);
}
