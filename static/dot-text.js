/* A picture as a text for Graphviz. */

/** @import { Picture } from "./wire" */

/** The states and edges of a picture in DOT; JSON quotes text as DOT does. An arrow leads into each initial state.
    @param {Pick<Picture, "states" | "edges">} picture */
export function dotText({ states, edges }) {
  const name = JSON.stringify;
  const shapes = states.map(
    ({ id, label, kinds }) =>
      `  ${name(id)} [label=${name(label)}, ` +
      `shape=${kinds.includes("call") ? "box" : kinds.includes("final") ? "doublecircle" : "circle"}]`,
  );
  const starts = states
    .filter(({ kinds }) => kinds.includes("initial"))
    .flatMap(({ id }) => [
      `  ${name(`start ${id}`)} [label="", shape=none, width=0, height=0]`,
      `  ${name(`start ${id}`)} -> ${name(id)}`,
    ]);
  const arrows = edges.map(
    ({ source, target, labels, mark }) =>
      `  ${name(source)} -> ${name(target)} [label=${name([...labels, ...(mark ? [mark] : [])].join("\n"))}]`,
  );
  return ["digraph {", "  rankdir=LR", ...starts, ...shapes, ...arrows, "}", ""].join("\n");
}
