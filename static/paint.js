/* The coloured copy of a grammar's text, under the text area. Only lines that differ from those on the page are built
   again: in a text of 2,000 lines a key changes one.
   CodeMirror 6 draws text as a part of its editor (109 KB); this is drawn without one in a replay too. */

import { el } from "./dom.js";
import { colour, notations } from "./notations.js";

/** @import { Mark } from "./editor-state.js" */

/** A line as pieces of text with their classes, and where it begins.
    @typedef {{ at: number, pieces: [string, string][], marks: Mark[] }} PaintedLine */

/** @typedef {{ keys: string[], lines: PaintedLine[], paint: HTMLElement }} Painter */

/** From code points, which Python counts, to UTF-16 units, which a browser counts. */
export function unitsIn(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (points) => Math.min(points, text.length);
  const units = [0];
  for (const character of text) units.push(units[units.length - 1] + character.length);
  return (points) => units[Math.min(points, units.length - 1)];
}

/** Marks over spans in code points, each by a name, or by what a function calls it. */
export function marksOf(text, spans, name) {
  const units = unitsIn(text);
  return spans.map((span) => {
    const from = units(span.start);
    return { from, to: Math.max(from, units(span.end)), name: typeof name === "string" ? name : name(span) };
  });
}

/** The same, but of a piece of several lines its first and its last character alone, which are its brackets. */
export const piecesOf = (text, spans, name) =>
  marksOf(text, spans, name).flatMap((mark) =>
    text.slice(mark.from, mark.to).includes("\n")
      ? [
          { ...mark, to: mark.from + 1 },
          { ...mark, from: mark.to - 1 },
        ]
      : [mark],
  );

/** The lines of a text. @returns {PaintedLine[]} */
function linesOf(text, notation) {
  /** @type {PaintedLine[]} */
  const lines = [{ at: 0, pieces: [], marks: [] }];
  let at = 0;
  for (const [piece, name] of colour(text, notation)) {
    let from = 0;
    for (let stop = piece.indexOf("\n"); stop >= 0; stop = piece.indexOf("\n", from)) {
      if (stop > from) lines[lines.length - 1].pieces.push([piece.slice(from, stop), name]);
      from = stop + 1;
      lines.push({ at: at + from, pieces: [], marks: [] });
    }
    if (from < piece.length) lines[lines.length - 1].pieces.push([from ? piece.slice(from) : piece, name]);
    at += piece.length;
  }
  return lines;
}

/** The line a place of the text is on: the last that begins at it or before. */
function lineAt(lines, place) {
  let low = 0,
    high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle].at <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The pieces of a line cut at the edges of its marks, each with the classes of all marks over it. */
function cut(line) {
  const runs = [];
  const voids = (place) => {
    for (const mark of line.marks)
      if (mark.from === mark.to && mark.from === place) runs.push(["", `${mark.name} void`]);
  };
  const edges = [...new Set(line.marks.flatMap((mark) => [mark.from, mark.to]))].sort((one, other) => one - other);
  let at = line.at;
  voids(at);
  for (const [piece, name] of line.pieces) {
    const end = at + piece.length,
      begin = at;
    for (const edge of [...edges.filter((place) => place > at && place < end), end]) {
      const names = new Set(name ? [name] : []);
      for (const mark of line.marks)
        if (mark.from <= at && edge <= mark.to && mark.from < mark.to) names.add(mark.name);
      runs.push([piece.slice(at - begin, edge - begin), [...names].join(" ")]);
      at = edge;
      voids(at);
    }
  }
  return runs;
}

/** Whether a piece between quotes ends with its closing quote. */
const closes = (piece) => /^[#\w]*(["'/])(?:\\[\s\S]|(?!\1|\\)[\s\S])*\1\w*$|^\[.*\]$|^\(\*[\s\S]*\*\)$/.test(piece);

const made = (runs, name) =>
  el("span", { class: name }, ...runs.map(([text, kind]) => (kind ? el("span", { class: kind }, text) : text)));

/** Draw text and marks; `live` are rules whose line is lit, in notations with one line for each rule.
    @param {Painter} painter */
function draw(painter, text, notation, marks, live) {
  painter.lines = linesOf(text, notation);
  for (const mark of marks) {
    const last = lineAt(painter.lines, Math.max(mark.from, mark.to - 1));
    for (let number = lineAt(painter.lines, mark.from); number <= last; number++)
      painter.lines[number].marks.push(mark);
  }
  const rows = painter.lines.map((line) => {
    const runs = line.marks.length ? cut(line) : line.pieces;
    const lit =
      live.size &&
      notations[notation].written &&
      line.pieces.some(([piece, name]) => name === "rule" && live.has(piece));
    const name = lit ? "l live" : "l";
    return { runs, name, key: `${name}\n${runs.map(([piece, kind]) => `${kind}\t${piece}`).join("\n")}` };
  });
  let first = 0;
  while (first < rows.length && first < painter.keys.length && rows[first].key === painter.keys[first]) first++;
  let rest = 0;
  while (
    rest < rows.length - first &&
    rest < painter.keys.length - first &&
    rows[rows.length - 1 - rest].key === painter.keys[painter.keys.length - 1 - rest]
  )
    rest++;
  const old = [...painter.paint.children].slice(first, painter.keys.length - rest);
  const middle = rows.slice(first, rows.length - rest);
  if (old.length === middle.length) {
    middle.forEach((row, i) => {
      if (row.key !== painter.keys[first + i]) old[i].replaceWith(made(row.runs, row.name));
    });
  } else {
    const after = painter.paint.children[painter.keys.length - rest] ?? null;
    for (const line of old) line.remove();
    const fresh = document.createDocumentFragment();
    for (const row of middle) fresh.append(made(row.runs, row.name));
    painter.paint.insertBefore(fresh, after);
  }
  painter.keys = rows.map((row) => row.key);
}

export function createPainter(paint) {
  /** @type {Painter} */
  const painter = {
    keys: [],
    lines: [{ at: 0, pieces: [], marks: [] }],
    paint,
  };
  paint.replaceChildren();
  return {
    draw: (text, notation, marks, live) => draw(painter, text, notation, marks, live),
    /** The coloured lines as they stand: [{at, pieces}]. */
    get lines() {
      return painter.lines;
    },
    /** The element of the line a place is on. */
    element: (place) => paint.children[lineAt(painter.lines, place)],
    /** Where on the screen a place is: a rectangle without width. */
    rect(place) {
      const number = lineAt(painter.lines, place),
        line = paint.children[number],
        range = document.createRange(),
        walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      let rest = place - painter.lines[number].at;
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        if (rest <= String(node.textContent).length) {
          range.setStart(node, rest);
          const found = range.getBoundingClientRect();
          if (found.height) return found;
          break;
        }
        rest -= String(node.textContent).length;
      }
      const box = line.getBoundingClientRect(),
        left = box.left + Number.parseFloat(getComputedStyle(line).paddingLeft);
      return new DOMRect(left, box.top, 0, box.height);
    },
    /** The class of the piece of text that a place is inside of; "" between pieces and in code. */
    kind(place) {
      const line = painter.lines[lineAt(painter.lines, place)];
      let at = line.at;
      for (const [piece, name] of line.pieces) {
        const end = at + piece.length;
        const open = place === end && /str|rx|com/.test(name) && !closes(piece);
        if ((at < place && place < end) || open) return name;
        at = end;
      }
      return "";
    },
    /** The number of that line, from 1. */
    number: (place) => lineAt(painter.lines, place) + 1,
  };
}
