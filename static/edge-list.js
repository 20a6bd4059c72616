/* The labels of a selected edge: all its tokens, with a filter, or its characters; and its stack operations. */

import { createLatest } from "./ask.js";
import { createButton, el } from "./dom.js";
import { formatNumber, several } from "./tokens.js";

/** From where to where an edge goes, with a button for the states folded into it. */
function edgeHead(edge, record, { status, unfold, close }) {
  const name = (id) => record.states.find((each) => each.id === id)?.label || id;
  return el(
    "header",
    el("span.chip", name(edge.source)),
    "→",
    el("span.chip", name(edge.target)),
    status,
    el("span.grow"),
    unfold && edge.inside?.length
      ? createButton("Unfold", { title: "Draw the states folded into this edge (or double-click it)" }, () =>
          unfold(edge.inside),
        )
      : null,
    createButton("×", { class: "bare", "aria-label": "Close" }, close),
  );
}

/** What an edge does to the stack. */
const effectOf = ({ pops, pushes }) => [
  ...pops.map((item) => el("p", el("b.pop", "▼"), " pops ", el("code", item))),
  ...pushes.map((item) => el("p", el("b.push", "▲"), " pushes ", el("code", item))),
];

/** ``tokensOf`` asks for the tokens of an edge; ``unfold`` draws the states folded into it. */
export function createEdgeList(box, tokensOf, unfold = /** @type {((states: string[]) => void) | null} */ (null)) {
  const latest = createLatest();
  let from = /** @type {HTMLElement | null} */ (null);
  const close = () => {
    latest.drop();
    box.hidden = true;
    from?.focus?.({ preventScroll: true });
  };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  });

  function show(edge, record, origin, parts = /** @type {number[] | null} */ (null)) {
    latest.drop();
    from = origin;
    const list = el("ul.tokens", { tabindex: "0", "aria-label": "Labels of this edge" });
    const status = el("span.status", { role: "status" });
    const filter = el("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "Search the label of this edge",
      spellcheck: "false",
      hidden: true,
    });
    const head = edgeHead(edge, record, { status, unfold, close }),
      effect = effectOf(edge);
    box.replaceChildren(head, filter, list, ...(effect.length ? [el("div.effect", ...effect)] : []));
    box.hidden = false;
    let items = edge.labels.length ? edge.labels.flatMap((label) => label.split("\n")) : ["a call"];
    const fill = () => {
      const wanted = filter.value.toLowerCase();
      const left = items.filter((item) => item.toLowerCase().includes(wanted));
      list.replaceChildren(...left.slice(0, 400).map((item) => el("li", item)));
      if (left.length > 400)
        list.append(el("li.more", `and ${formatNumber(left.length - 400)} more; search to see them`));
      if (!left.length) list.append(el("li.more", "no token of this edge contains that"));
    };
    filter.addEventListener("input", fill);
    status.textContent = edge.count
      ? several(edge.count, "token")
      : edge.title && edge.title !== items.join(" ")
        ? edge.title.split("\n")[0]
        : "";
    if (!edge.count && edge.detail) items = [...items, ...edge.detail.split(", ")];
    fill();
    filter.hidden = items.length < 9;
    if (edge.count < 2) return;
    latest.run(async (ask) => {
      const answer = await tokensOf(ask, edge, parts);
      if (answer.ok && answer.tokens.length) {
        items = answer.tokens;
        status.textContent =
          several(answer.count, "token") +
          (answer.count > items.length ? `, the first ${formatNumber(items.length)} listed` : "");
      }
      filter.hidden = items.length < 9;
      fill();
    });
  }
  return {
    show,
    close: () => {
      latest.drop();
      box.hidden = true;
    },
  };
}
