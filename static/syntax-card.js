/* The constructs of the notation (syntax_card.py says what each row has). A click inserts one at the caret, and selects
   the part of it that is to be replaced. */

import { createLatest } from "./ask.js";
import { createButton, el } from "./dom.js";
import { notations } from "./notations.js";
import { state } from "./state.js";
import { addGridKeys } from "./tests.js";

/** @import { Construct, Server, SyntaxGroup } from "./wire" */

/** What a sign of repetition takes as one item. */
const ITEM = /^(?:[\w-]+|'[^']*'|"[^"]*"|\[[^\]]*\]|\([^()]*\)|\/[^/]*\/)$/s,
  REGEX_ITEM = /^(?:\\?.|\[[^\]]*\]|\([^()]*\))$/su;

/** A selected text as an operand of a construct: in brackets where a repetition would take only its end. */
function operand(selected, construct, notation) {
  const isRegex = notation === "regex";
  if (!/^…[?*+{~]/.test(construct) || (isRegex ? REGEX_ITEM : ITEM).test(selected)) return selected;
  return `${isRegex ? "(?:" : "("}${selected})`;
}

/** What separates an insertion from the text on both sides of it. */
function separators(head, tail, notation) {
  if (notation === "regex") return ["", ""];
  if (notations[notation].table === notations.json_schema.table)
    return [
      /[{[]\s*$|^\s*$/.test(head) ? "" : /[:,]\s*$/.test(head) ? (/\s$/.test(head) ? "" : " ") : ", ",
      /^\s*(?:[}\],]|$)/.test(tail) ? "" : ", ",
    ];
  return [/[^\s([{]$/.test(head) ? " " : "", /^[^\s)\]};,|?*+]/.test(tail) ? " " : ""];
}

/** Where an insertion without an operand goes: a separate line, or after the selection, but not after the sign that
    ends the whole text. @returns {[number, number]} */
function destination(text, to, ownLine, notation) {
  if (ownLine) {
    const begin = text.lastIndexOf("\n", to - 1) + 1,
      end = `${text}\n`.indexOf("\n", to);
    return text.slice(begin, end).trim() ? [end, end] : [begin, end];
  }
  const last = { kbnf: /\s*;\s*$/, json_schema: /\s*\}\s*$/ }[notation];
  const end = last && !text.slice(to).trim() ? text.slice(0, to).replace(last, "").length : to;
  return [end, end];
}

/** The text with a construct inserted at its selection, and what is selected then.
    @param {string} text @param {[number, number]} selection @param {Construct} construct @param {string} notation */
function withConstruct(text, [from, to], construct, notation) {
  const insertion = text.trim() ? construct.insert : construct.example;
  const ownLine = insertion.startsWith("\n");
  let [before, part = "", after = ""] = insertion.split(/[‹›]/);
  const wraps = from < to && !ownLine && text.trim() && construct.text.includes("…");
  if (wraps) part = operand(text.slice(from, to), construct.text, notation);
  else [from, to] = text.trim() ? destination(text, to, ownLine, notation) : [0, text.length];
  const [head, tail] = [text.slice(0, from), text.slice(to)];
  if (ownLine && (!head || from < to || head.endsWith("\n"))) before = before.slice(1);
  else if (!wraps && !ownLine) {
    const [left, right] = separators(head, tail, notation);
    before = left + before;
    if (insertion.includes("‹")) after += right;
    else before += right;
  }
  const start = head.length + before.length;
  return { text: head + before + part + after + tail, selection: [start, start + part.length] };
}

/** The card in ``box``; it asks once for each notation.
    @param {HTMLElement} box @param {Server} server
    @param {{ area: HTMLTextAreaElement, replace: (text: string) => void }} editor */
export function createSyntaxCard(box, server, editor) {
  const list = el("ul.syntax", { "aria-label": "Syntax: a click inserts" });
  box.append(list);
  const latest = createLatest({ subject: () => state.notation });
  let shown = "";

  function insert(construct) {
    const { area } = editor;
    const edit = withConstruct(area.value, [area.selectionStart, area.selectionEnd], construct, state.notation);
    editor.replace(edit.text);
    area.setSelectionRange(edit.selection[0], edit.selection[1]);
  }
  const row = (title, construct) =>
    el(
      "li",
      title && el("b.quiet", title),
      createButton(
        [el("code", construct.text), el("span", construct.about)],
        { title: `Insert it. For example: ${construct.example.replace(/[‹›]/g, "")}` },
        () => insert(construct),
      ),
    );
  /** @param {SyntaxGroup[]} groups */
  function show(groups) {
    list.replaceChildren(
      ...groups.flatMap(({ title, rows }) => rows.map((construct, index) => row(index ? null : title, construct))),
    );
    addGridKeys(list);
  }

  return {
    ask() {
      if (shown === state.notation) {
        latest.drop();
        return;
      }
      const { notation } = state;
      latest.run(async (ask) => {
        const answer = await ask(server.syntax_card, { notation });
        if (!("groups" in answer)) return;
        shown = notation;
        show(answer.groups);
      });
    },
  };
}
