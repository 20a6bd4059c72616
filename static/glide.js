/* A new picture of the same machine: the states in both move from the old position to the new one. */

import { state } from "./state.js";

const LASTS = 200; // milliseconds

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export function createGlide() {
  let running = [],
    request = 0;
  /** Everything moves to its new position immediately. */
  const end = () => {
    for (const each of running) each.cancel();
    running = [];
  };
  /** States and lanes with the point of the screen at which each is. */
  function places(svg) {
    const found = new Map();
    for (const group of svg.querySelectorAll(".node[data-id], .cluster[data-rule]")) {
      const at = (group.querySelector("ellipse, rect, polygon, path") ?? group).getBoundingClientRect();
      found.set(group.dataset.id ?? `lane ${group.dataset.rule}`, {
        group,
        x: at.left + at.width / 2,
        y: at.top + at.height / 2,
      });
    }
    return found;
  }
  return {
    end,
    /** What ``to`` needs of a picture before it is replaced; null where nothing is to move. */
    from: (old) => (old && !calm.matches && !document.hidden && !state.running ? places(old) : null),
    /** Begins with the next frame, so that the camera reads the new places until then. */
    to(svg, before) {
      const mine = requestAnimationFrame(() => {
        if (mine !== request || !svg.isConnected) return;
        const unit = svg.getScreenCTM()?.a;
        if (!unit) return;
        const stays = [...places(svg)].map(([id, now]) => [now, before.get(id)]).filter(([, old]) => old);
        // all animations first: each call reads styles, and a class that changed in between would make it compute
        // them anew
        for (const [{ group, x, y }, old] of stays) {
          const dx = (old.x - x) / unit,
            dy = (old.y - y) / unit;
          if (Math.hypot(dx, dy) > 0.5)
            running.push(
              group.animate({ translate: [`${dx}px ${dy}px`, "0px 0px"] }, { duration: LASTS, easing: "ease-out" }),
            );
        }
        for (const [{ group }, old] of stays) {
          group.classList.add("stays");
          old.group.style.visibility = "hidden";
        }
        svg.classList.add("arriving");
        setTimeout(() => svg.classList.remove("arriving"), LASTS); // an edge that is put elsewhere would fade in again
      });
      request = mine;
    },
  };
}
