/* The server's SVG as elements of the page. */

import { svgEl } from "./dom.js";
import { stateOf } from "./graph-state.js";

/** SVG text becomes elements without anything that could run or load.
    @param {string} svg @param {string} prefix */
export function parseSvg(svg, prefix) {
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
  return /** @type {SVGSVGElement} */ (/** @type {Element} */ (document.importNode(root, true)));
}

/** The arrow into the first state; Graphviz would need a node and a rank for it.
    @param {SVGElement} svg @param {number[]} home */
export function markStart(svg, home) {
  for (const node of svg.querySelectorAll(svg.matches(".lanes") ? ".node.rule, .node.initial" : ".node.initial")) {
    const rings = [...node.querySelectorAll("ellipse")];
    if (!rings.length) continue;
    const [cx, cy] = ["cx", "cy"].map((name) => Number(rings[0].getAttribute(name)));
    const left = cx - Math.max(...rings.map((ring) => Number(ring.getAttribute("rx"))));
    node.append(
      svgEl("path", { d: `M${left - 20} ${cy}H${left - 5}`, class: "start" }),
      svgEl("path", { d: `M${left} ${cy}l-7 -2.6v5.2z`, class: "start tip" }),
    );
    home = [Math.min(home[0], left - 24), home[1], home[2] + Math.max(0, home[0] - left + 24), home[3]];
  }
  return home;
}

/** Names for screen readers, and a broad line under each thin one, to be hit by a finger. @param {SVGElement} svg */
export function describeParts(svg) {
  for (const node of svg.querySelectorAll(".node")) {
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", node.querySelector("title")?.textContent || stateOf(node));
  }
  for (const group of svg.querySelectorAll(".edge")) {
    const line = group.querySelector("path");
    if (!line) continue;
    const wide = /** @type {SVGPathElement} */ (line.cloneNode());
    wide.setAttribute("class", "hit");
    wide.removeAttribute("stroke-dasharray");
    group.append(wide);
  }
}
