/* The parse tree of a run up to its current token, or of a test: what is requested of the server, and what a selected
   node says. A node marks its span in the text and its rule in the grammar. */

import { createButton, el, radios } from "./dom.js";
import { emit, on, state } from "./state.js";
import { saved } from "./storage.js";
import { glyphs, hexOf, readOf } from "./tokens.js";

/** @import { Picture } from "./wire" */
/** @import { ShownStep } from "./picture-state.js" */
/** How trees are looked at; ``test`` is the text of a test that is shown in the place of the run. */
const treeLooks = {
  every: Boolean(saved.get("tree every")),
  which: 1,
  unfolded: /** @type {string[]} */ ([]),
  test: /** @type {string | null} */ (null),
};

/** The steps up to the one that is shown, that one included. */
function taken(step, atEnd) {
  const { steps } = state,
    at = step ? steps.indexOf(step) : -1;
  return atEnd || at < 0 ? steps : steps.slice(0, at + 1);
}

/** What the tree is requested with: the text, its tokens and which of them is read last.
    @param {ShownStep | null} step @param {boolean} atEnd */
export function treeRequest(step, atEnd) {
  const { every, which, unfolded, test } = treeLooks,
    looks = { every, which, unfolded: [...unfolded] };
  if (test !== null || !step) {
    const text = test ?? state.tests.find((one) => one.expect === "accept")?.text ?? "";
    return { ...looks, so_far: hexOf({ text }), tokens: [], current: -1 };
  }
  const read = taken(step, atEnd).map((each) => readOf(each) ?? "");
  return { ...looks, so_far: read.join(""), tokens: read.map((hex) => hex.length / 2), current: read.length - 1 };
}

function forget() {
  treeLooks.which = 1;
  treeLooks.unfolded = [];
  emit("tree node", null);
}

/** @param {string} path @param {() => void} draw */
const unfold = (path, draw) => {
  treeLooks.unfolded.push(path);
  draw();
};

/** The nodes from the root to one, as their numbers. */
const above = (nodes, path) =>
  nodes.flatMap((node, index) => (path === node.path || path.startsWith(`${node.path}.`) ? [index] : []));

function about(node, draw) {
  const name = node.kind === "text" ? "text" : node.kind === "pending" ? "not read yet" : node.kind;
  const [start, end] = node.characters;
  return [
    el("span", name),
    ...(node.kind === "text" ? [] : [el("span.chip.now", node.label)]),
    ...(node.kind === "pending" ? [] : [el("code", node.text ? glyphs({ text: node.text }) : "nothing")]),
    el("span.quiet", `characters ${start}–${end}`),
    ...(node.open && node.kind !== "pending" ? [el("span.chip", "unfinished")] : []),
    createButton("Go to the grammar", { class: "link" }, () =>
      emit("place", { start: node.source[0], end: node.source[1] }),
    ),
    ...(node.folded ? [createButton("Show its parts", { class: "link" }, () => unfold(node.path, draw))] : []),
  ];
}

/** The switches above a tree and the line under it. ``draw`` requests the tree again.
    @param {(selector: string) => HTMLElement} find @param {() => void} draw */
export function createTreeTools(find, draw) {
  const box = find(".treetools");
  const every = box.querySelector("[data-look=every]");
  const of = box.querySelector(".of");
  const trees = box.querySelector(".trees");
  const showWhich = radios(
    trees,
    "data-tree",
    [
      ["1", "Tree 1"],
      ["2", "Tree 2"],
    ],
    (name) => {
      treeLooks.which = Number(name);
      draw();
    },
  );
  every.addEventListener("click", () => {
    treeLooks.every = !treeLooks.every;
    treeLooks.unfolded = [];
    saved.set("tree every", treeLooks.every);
    draw();
  });
  of.addEventListener("click", () => {
    treeLooks.test = null;
    forget();
    draw();
  });
  on("example", () => {
    treeLooks.test = null;
    forget();
  });
  on("show tree", (text) => {
    treeLooks.test = text;
    forget();
  });
  return {
    unfold: (path) => unfold(path, draw),
    /** Show what applies to a tree.
        @param {Picture | null} record @param {boolean} running */
    show(record, running) {
      const tree = record?.tree;
      every.setAttribute("aria-pressed", String(treeLooks.every));
      trees.hidden = tree?.trees !== 2;
      if (tree) showWhich(String(tree.which));
      of.hidden = treeLooks.test === null || !running;
    },
    /** The numbers of the nodes on the path to a node. */
    path: (record, id) => above(record.tree.nodes, record.tree.nodes[Number(id)].path),
    /** Mark a node in the text and in the grammar; null takes the marks away. */
    mark(record, id) {
      const node = id === null ? null : record.tree.nodes[Number(id)];
      emit("tree node", node && { ...node, test: treeLooks.test });
    },
    /** The line under the picture: the selected node, or what the text is. */
    describe(record, picked) {
      const { tree } = record;
      if (picked) return about(tree.nodes[Number(picked.id)], draw);
      if (!tree.accepted)
        return [
          el("span", { class: tree.failing ? "no" : "" }, tree.failing ? "✗ cannot read " : "not finished: "),
          ...(tree.failing ? [el("code", tree.failing), "; "] : []),
          "expected ",
          el("code", tree.expected),
          el("span.quiet", " · dashed: not read yet"),
        ];
      if (tree.trees === 2)
        return [el("b", `ambiguous: ${tree.counted}`), " · the trees differ below the node with the thick border"];
      return [el("span.legend", "click a node to see what it read and where it is written")];
    },
  };
}
