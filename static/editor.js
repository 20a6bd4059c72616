/* The editor: a plain text area over a coloured copy of its text. The area does what browsers do well (typing, undo,
   input methods, screen readers); the copy has colours, line numbers and marks: problems as wavy lines, boxes around
   pieces of the grammar that could read the next byte, all uses of a rule's name, and the matching bracket. */

import { createCompletion } from "./completion.js";
import { scrollIntoColumn } from "./dom.js";
import { namesIn } from "./notations.js";
import { createPainter, marksOf, piecesOf, unitsIn } from "./paint.js";
import { createProblemHint } from "./problem-hint.js";

/** Up to this many lines are inserted as if typed; the browser's work grows with their square. */
const LINES = 200;
/** Characters from which looking for a name takes as long as painting a line. */
const LONG = 10_000;
const PAIRS = { "(": ")", "[": "]", "{": "}" };
const CLOSING = new Set(Object.values(PAIRS));

/** How much two texts share at their beginning, and at their end. */
function shared(one, other) {
  const most = Math.min(one.length, other.length);
  let head = 0,
    tail = 0;
  while (head < most && one[head] === other[head]) head++;
  while (tail < most - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  return [head, tail];
}

/** Marks where their text stands after an edit; those of text that was edited are gone. */
function moved(marks, before, after) {
  const [head, tail] = shared(before, after);
  const by = after.length - before.length,
    from = before.length - tail;
  return marks.flatMap((mark) =>
    mark.to <= head ? [mark] : mark.from >= from ? [{ ...mark, from: mark.from + by, to: mark.to + by }] : [],
  );
}

/** The editor in ``box``; ``changed`` gets each new text, and whether all of the old one was selected and replaced;
    and whether it was typed; ``server`` answers what can be completed.
    @param {any} box @param {import("./wire").Servers["grammar"]} server
    @param {(text: string, all: boolean, byHand: boolean) => void} changed */
export function createEditor(box, server, changed) {
  const area = box.querySelector("textarea.text");
  const painter = createPainter(box.querySelector(".paint"));
  let shown = "";
  let notation = "regex";
  let problems = [],
    places = [],
    reading = [],
    names = [],
    brackets = [];
  let live = new Set();
  let caretAsked = 0,
    pointerAsked = 0,
    cameFrom = /** @type {HTMLElement | null} */ (null),
    markedNow = "",
    all = false, // whether the edit under way replaces the whole text
    replacing = false; // whether it is the page's own

  const draw = () => painter.draw(shown, notation, [...problems, ...reading, ...places, ...names, ...brackets], live);

  // -- rules by name, brackets by their other half ------------------------------------------

  function sameName(place) {
    const words = namesIn(painter.lines, notation);
    const here = words.find((one) => one.from <= place && place <= one.to);
    return here ? { here, all: words.filter((one) => one.word === here.word) } : null;
  }

  /** What is said of a name under the pointer. */
  function told({ here, all }) {
    const defined = all.filter((one) => one.defines),
      used = all.length - defined.length;
    const where = [...new Set(defined.map((one) => painter.number(one.from)))];
    const times = used === 1 ? "once" : `${used} times`;
    return (
      `${here.word}: ${where.length ? `defined in line ${where.join(", ")}` : "not defined"}, ` +
      `${used ? `used ${times}` : "not used"}` +
      (where.length && !here.defines ? " (Ctrl+click or F12 goes there)" : "")
    );
  }

  /** The bracket next to the caret and the matching one. */
  function pairAt(place) {
    const open = [];
    for (const line of painter.lines) {
      let at = line.at;
      for (const [piece, name] of line.pieces) {
        if (name === "op") {
          for (let i = 0; i < piece.length; i++) {
            if (PAIRS[piece[i]]) open.push([at + i, PAIRS[piece[i]]]);
            else if (CLOSING.has(piece[i]) && open.length && open[open.length - 1][1] === piece[i]) {
              const [from] = open.pop(),
                to = at + i;
              if (from === place || from === place - 1 || to === place || to === place - 1) return [from, to];
            }
          }
        }
        at += piece.length;
      }
    }
    return [];
  }

  /** What belongs to the place of the caret, or of the pointer. */
  function belongs(place, only) {
    const found = sameName(place);
    names =
      found && found.all.length > 1
        ? found.all.map((one) => ({ from: one.from, to: one.to, name: one.defines ? "named def" : "named" }))
        : [];
    if (!only) brackets = pairAt(place).map((at) => ({ from: at, to: at + 1, name: "bracket" }));
    const now = [...names, ...brackets].map((mark) => mark.from + mark.name).join();
    if (now === markedNow) return;
    markedNow = now;
    draw();
  }

  const atCaret = () =>
    area.selectionStart === area.selectionEnd && document.activeElement === area ? area.selectionStart : -1;
  const caretMoved = () => {
    clearTimeout(caretAsked);
    caretAsked = setTimeout(() => belongs(atCaret()), shown.length > LONG ? 120 : 0); // no key waits for it
    hint.caret(atCaret());
  };

  /** To the rule's definition; from there to where it is named next. */
  function define(place) {
    const found = sameName(place);
    if (!found) return false;
    const { here, all } = found;
    const next = here.defines ? all[(all.indexOf(here) + 1) % all.length] : (all.find((one) => one.defines) ?? here);
    go(next.from, next.to);
    return true;
  }

  /** Scroll the line of a piece into sight, unless the author is writing. */
  function reveal(piece) {
    if (piece && document.activeElement !== area) scrollIntoColumn(box, painter.element(piece.from), 4);
  }

  // -- going somewhere ----------------------------------------------------------------------

  function go(from, to) {
    if (document.activeElement !== area) cameFrom = /** @type {HTMLElement | null} */ (document.activeElement);
    area.focus({ preventScroll: true });
    area.setSelectionRange(from, to);
    const line = painter.element(from),
      seen = box.getBoundingClientRect(),
      stands = line?.getBoundingClientRect();
    if (line && (stands.top < Math.max(0, seen.top) || stands.bottom > Math.min(innerHeight, seen.bottom))) {
      box.scrollTop += stands.top - seen.top - (seen.height - stands.height) / 2;
      line.scrollIntoView({ block: "nearest" });
    }
    belongs(from);
  }

  /** Back to the link that led here, or out, so that Tab and the page's own keys work from there. */
  function leave(event) {
    const back = cameFrom?.isConnected && cameFrom !== document.body ? cameFrom : null;
    cameFrom = null;
    area.blur();
    if (!back) return;
    event.stopPropagation();
    back.focus();
  }

  /** Type something as a person would: the browser's undo knows it. Many lines take it seconds, so they go in at
      once. */
  function type(text) {
    if (text.split("\n").length > LINES || !document.execCommand("insertText", false, text)) {
      area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
      area.dispatchEvent(new Event("input"));
    }
  }

  // both take keys before the editor does, while they are open
  const completion = createCompletion({
    area,
    painter,
    host: box.parentNode,
    server,
    notation: () => notation,
    write: type,
    opened: () => hint.hide(),
  });
  const hint = createProblemHint({ area, painter, host: box.parentNode, busy: () => completion.open });

  area.addEventListener("beforeinput", () => {
    const { value, selectionStart, selectionEnd } = area;
    all = !value.slice(0, selectionStart).trim() && !value.slice(selectionEnd).trim();
  });
  area.addEventListener("input", (event) => {
    const text = area.value;
    [problems, places] = [problems, places].map((marks) => moved(marks, shown, text));
    [reading, names, brackets, live, markedNow] = [[], [], [], new Set(), ""];
    [shown, cameFrom] = [text, null];
    hint.set(problems);
    draw();
    completion.typed(event);
    changed(text, all, !all && !replacing && !/Paste|Drop|history/.test(event.inputType ?? "Paste"));
    all = false;
  });
  area.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
    if (event.key === "Escape") leave(event);
    else if (event.key === "F12" && define(area.selectionStart)) event.preventDefault();
    else if (event.key === "Enter" && plain && !event.shiftKey && notation !== "regex") {
      const line = shown.slice(shown.lastIndexOf("\n", area.selectionStart - 1) + 1, area.selectionStart);
      const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
      if (!indent) return;
      event.preventDefault();
      type(`\n${indent}`);
    }
  });
  area.addEventListener("click", (event) => {
    if ((event.ctrlKey || event.metaKey) && define(area.selectionStart)) event.preventDefault();
  });
  area.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch" || !document.caretPositionFromPoint) return;
    cancelAnimationFrame(pointerAsked);
    pointerAsked = requestAnimationFrame(() => {
      const under = document.caretPositionFromPoint(event.clientX, event.clientY);
      const over = under && under.offsetNode === area ? under.offset : -1;
      const found = notation === "regex" ? null : sameName(over);
      hint.pointer(over);
      area.title = found ? told(found) : "";
      belongs(found ? over : atCaret(), true);
    });
  });
  area.addEventListener("pointerleave", () => {
    cancelAnimationFrame(pointerAsked);
    area.title = "";
    hint.pointer(-1);
    caretMoved();
  });
  area.addEventListener("blur", caretMoved);
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === area) caretMoved();
  });

  function put(text, kind) {
    area.value = text;
    [shown, notation] = [area.value, kind];
    [problems, places, reading, names, brackets, live, markedNow] = [[], [], [], [], [], new Set(), ""];
    completion.close();
    hint.set(problems);
    draw();
  }
  draw();

  return {
    area,
    /** Another text as if it had been typed: the browser's undo still knows the one before. */
    replace(text) {
      const [head, tail] = shared(shown, text); // only what differs: long insertions take browsers seconds
      area.focus();
      area.setSelectionRange(head, shown.length - tail);
      replacing = true;
      type(text.slice(head, text.length - tail));
      replacing = false;
    },
    /** Another text without the focus: what changed it is elsewhere. */
    write(text) {
      area.value = text;
      area.dispatchEvent(new Event("input"));
    },
    set: put,
    notation(kind) {
      notation = kind;
      names = [];
      draw();
    },
    /** Problems: [{start, end, severity}] in code points. */
    problems(list) {
      const placed = list.filter((problem) => problem.line);
      problems = marksOf(shown, placed, (problem) => `squig ${problem.severity}`).map((mark, index) => ({
        ...mark,
        problem: placed[index],
      }));
      hint.set(problems);
      hint.caret(atCaret());
      draw();
    },
    /** Pieces of the grammar that could have read on, or a part of it: [{start, end}]; none takes them away. */
    places(list, kind = "place") {
      places = piecesOf(shown, list, kind);
      draw();
    },
    /** Pieces of the grammar that read the current token. */
    readIn(spans) {
      if (!spans.length && !reading.length) return;
      reading = piecesOf(shown, spans, "read-in");
      draw();
      reveal(reading[0]);
    },
    live(rules) {
      const next = new Set(rules);
      if ([...next].join() !== [...live].join()) {
        live = next;
        draw();
        const inner = rules[rules.length - 1];
        if (inner) reveal(namesIn(painter.lines, notation).find((one) => one.defines && one.word === inner));
      }
    },
    /** Select a piece of the text and bring it into sight. */
    jump(span) {
      const units = unitsIn(shown);
      go(units(span.start), units(span.end));
    },
  };
}
