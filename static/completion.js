/* Completion in the editor: a list at the caret. What fits where is a table of the server (completions.py), asked once
   for each notation; names of rules, classes and properties are those of the text. The list takes keys only while it
   is open, and writes as a person would type, so that the browser's undo knows it.
   The completion of CodeMirror 6 needs CodeMirror's editor, which is not used here (``editor.js``). */

import { askServer, createLatest } from "./ask.js";
import { el, hasModifier } from "./dom.js";
import { namesIn, notations, propertiesIn } from "./notations.js";
import { state } from "./state.js";

/** @typedef {{
      list: HTMLElement, status: HTMLElementTagNameMap["span"], tables: Map<string, Promise<CompletionContext[]>>,
      items: Completion[], chosen: number, span: { from: number, to: number }, writing: boolean,
      latest: ReturnType<typeof createLatest>, area: HTMLTextAreaElement,
      painter: ReturnType<typeof createPainter>, server: Server, notation: () => string,
      write: (text: string) => void, opened: () => void,
    }} CompletionList */

/** @import { Completion, CompletionContext, Server } from "./wire" */
/** @import { createPainter } from "./paint.js" */
/** Characters before the caret that are looked at, and words that are listed. */
const BEFORE = 4000;
const MOST = 60;
const CLASSES = { str: "quoted", rx: "quoted", esc: "quoted" };

/** The place of the end of a JSON text in its tree: "path\nkey or value\nthe string that is typed". */
function jsonPlace(text) {
  const open = [];
  /** @type {string | null} */
  let string = null;
  let key = "";
  const top = () => open[open.length - 1];
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    if (string !== null) {
      if (sign === "\\") string += text[i] + (text[++i] ?? "");
      else if (sign === '"') {
        key = string;
        string = null;
      } else string += sign;
    } else if (sign === '"') string = "";
    else if (sign === "{") open.push({ list: false, step: "", value: false });
    else if (sign === "[") open.push({ list: true, step: 0, value: true });
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign === ":" && top()) Object.assign(top(), { step: key, value: true });
    else if (sign === "," && top()) {
      if (top().list) top().step++;
      else Object.assign(top(), { step: "", value: false });
    }
  }
  const inside = top(),
    path = open.map((one) => `/${one.value ? one.step : ""}`).join("");
  if (!inside) return { place: "", quoted: false, key: false };
  const around = inside.value ? path : path.slice(0, -1);
  return {
    place: `${around}\n${inside.value ? "value" : "key"}\n${string ?? ""}`,
    quoted: string !== null,
    key: !inside.value,
  };
}

/** Words that begin as typed, then those that contain it; null where the only one is written already. */
function fitting(words, typed) {
  const low = typed.toLowerCase();
  const begin = words.filter((one) => one.text.toLowerCase().startsWith(low));
  const inside = low.length > 1 ? words.filter((one) => one.text.toLowerCase().indexOf(low) > 0) : [];
  const all = [...begin, ...inside].slice(0, MOST);
  return all.length && !(all.length === 1 && all[0].insert === typed) && !(typed && all[0].text === typed) ? all : null;
}

const plain = (text, about) => ({ text, about, insert: text, back: 0 });

/** Names in the text that a context asks for, without the one that is being typed. */
function namesOf(kind, lines, notation, caret) {
  const elsewhere = (list) => list.filter((one) => caret < one.from || one.to < caret);
  const unique = (list) => [...new Map(list.map((one) => [one.text, one])).values()];
  if (kind === "missing")
    return (state.compiled?.problems ?? []).flatMap(({ missing_rule: rule = "" }) => {
      const insert = /^[^'"%]*/.exec(rule)?.[0] ?? ""; // up to the sign of the definition
      return insert ? [{ text: insert.replace(/\s*:.*$/, ""), about: "a missing rule", insert, back: 0 }] : [];
    });
  if (kind === "properties") return unique(elsewhere(propertiesIn(lines)).map((one) => plain(one.word, "a property")));
  const defined = elsewhere(namesIn(lines, notation)).filter((one) => one.defines);
  if (kind === "definitions") return unique(defined.map((one) => plain(`#/${one.under}/${one.word}`, "a definition")));
  return kind ? unique(defined.map((one) => plain(one.word, notation === "dataclass" ? "a class" : "a rule"))) : [];
}

/** Put a box on the page under a place of the text, or above it where there is more room. */
export function place(box, rect) {
  const gap = 4,
    below = innerHeight - rect.bottom - 2 * gap,
    above = rect.top - 2 * gap;
  box.style.maxHeight = "";
  const under = box.offsetHeight <= below || below >= above;
  box.style.maxHeight = `${Math.min(box.offsetHeight + 1, Math.max(80, under ? below : above))}px`;
  box.style.top = `${under ? rect.bottom + gap : rect.top - gap - box.offsetHeight}px`;
  box.style.left = `${Math.max(8, Math.min(rect.left - 8, innerWidth - box.offsetWidth - 8))}px`;
}

/** @param {CompletionList} completion */
function tableOf(completion, name) {
  const table =
    completion.tables.get(name) ??
    askServer(completion.server.completions, { notation: name }).then((answer) => {
      if (!answer.contexts) completion.tables.delete(name);
      return answer.contexts ?? [];
    });
  completion.tables.set(name, table);
  return table;
}

/** What fits at the caret: the words and the piece of text that they replace. @param {CompletionList} completion */
function itemsFor(completion, contexts, asked) {
  const caret = completion.area.selectionStart,
    text = completion.area.value;
  if (caret !== completion.area.selectionEnd) return null;
  const json =
    notations[completion.notation()].table === notations.json_schema.table ? jsonPlace(text.slice(0, caret)) : null;
  const kind = completion.painter.kind(caret);
  if (kind === "com") return null;
  const where = CLASSES[kind] ?? "code",
    subject = json ? json.place : text.slice(Math.max(0, caret - BEFORE), caret);
  for (const context of contexts) {
    const match = (!context.where || context.where === where) && new RegExp(context.before).exec(subject);
    if (!match) continue;
    const typed = match[1] ?? "";
    if (!asked && !typed && !(context.eager && (!json || json.quoted))) return null;
    const words = [...namesOf(context.names, completion.painter.lines, completion.notation(), caret), ...context.items];
    const all = fitting(json ? words.map((word) => quoted(word, json, text.slice(caret))) : words, typed);
    return all && { all, from: caret - typed.length, to: caret };
  }
  return null;
}

/** A word as the rest of a JSON string, or as a whole one; a key with its colon. */
function quoted(word, { quoted: open, key }, rest) {
  const colon = key && !/^"?\s*:/.test(rest) ? ": " : "";
  const end = open && rest.startsWith('"') ? (colon ? null : "") : `"${colon}`;
  return { ...word, insert: `${open ? "" : '"'}${word.insert}${end ?? ""}` };
}

/** @param {CompletionList} completion */
function showItems(completion, found) {
  if (!found) {
    closeList(completion);
    return;
  }
  completion.items = found.all;
  completion.span = found;
  completion.chosen = 0;
  completion.list.replaceChildren(
    ...completion.items.map((item, index) =>
      el(
        "li",
        {
          role: "option",
          id: `wb-complete-${index}`,
          onmousedown: (event) => event.preventDefault(), // the text keeps the caret
          onclick: () => accept(completion, index),
        },
        el("span.word", item.text),
        el("span.quiet", item.about),
      ),
    ),
  );
  completion.list.hidden = false;
  completion.opened();
  completion.area.setAttribute("aria-controls", completion.list.id);
  choose(completion, 0);
  place(completion.list, completion.painter.rect(completion.span.from));
  completion.status.textContent = `${completion.items.length} completion${completion.items.length === 1 ? "" : "s"}`;
}

/** @param {CompletionList} completion */
function choose(completion, index) {
  completion.chosen = (index + completion.items.length) % completion.items.length;
  [...completion.list.children].forEach((item, i) => {
    item.setAttribute("aria-selected", String(i === completion.chosen));
  });
  completion.area.setAttribute("aria-activedescendant", `wb-complete-${completion.chosen}`);
  completion.list.children[completion.chosen].scrollIntoView({ block: "nearest" });
}

/** @param {CompletionList} completion */
function closeList(completion) {
  completion.latest.drop();
  if (completion.list.hidden) return;
  completion.list.hidden = true;
  completion.status.textContent = "";
  completion.area.removeAttribute("aria-activedescendant");
  completion.area.removeAttribute("aria-controls");
}

/** @param {CompletionList} completion */
function accept(completion, index) {
  const item = completion.items[index];
  const rest = completion.area.value.slice(completion.span.to);
  closeList(completion);
  // what is after the caret already is not written twice
  let insert = item.insert,
    skip = 0;
  const tail = insert.match(/[>})"'\]]+$/)?.[0] ?? "";
  if (tail && item.back === 0 && rest.startsWith(tail)) {
    insert = insert.slice(0, -tail.length);
    skip = tail.length;
  }
  completion.writing = true;
  completion.area.focus();
  completion.area.setSelectionRange(completion.span.from, completion.span.to);
  completion.write(insert);
  completion.writing = false;
  const caret = completion.area.selectionStart + skip - item.back;
  completion.area.setSelectionRange(caret, caret);
}

/** @param {CompletionList} completion */
const openList = (completion, asked) =>
  completion.latest.run(async (_ask, wait) => {
    const contexts = await wait(tableOf(completion, completion.notation()));
    if (document.activeElement === completion.area) showItems(completion, itemsFor(completion, contexts, asked));
  });

/** @param {{ area: HTMLTextAreaElement, painter: ReturnType<typeof createPainter>, host: Element, server: Server,
      notation: () => string, write: (text: string) => void, opened: () => void }} parts */
export function createCompletion({ area, painter, host, server, notation, write, opened }) {
  const list = el("ul.complete", { id: "wb-complete", role: "listbox", "aria-label": "Completions" });
  list.hidden = true;
  host.append(list);
  const said = el("span.sr", { role: "status" });
  host.append(said);
  /** @type {Map<string, Promise<CompletionContext[]>>} */
  /** @type {CompletionList} */
  const completion = {
    list,
    status: said,
    tables: new Map(),
    items: [],
    chosen: 0,
    span: { from: 0, to: 0 },
    writing: false,
    latest: createLatest(),
    area,
    painter,
    server,
    notation,
    write,
    opened,
  };
  area.setAttribute("aria-autocomplete", "list");
  area.setAttribute("aria-haspopup", "listbox");
  area.addEventListener("blur", () => closeList(completion));
  area.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      openList(completion, true);
      return;
    }
    if (list.hidden || hasModifier(event)) return;
    const page = Math.max(1, Math.floor(list.clientHeight / (list.querySelector("li").offsetHeight || 1)) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    if (step)
      choose(
        completion,
        Math.abs(step) > 1
          ? Math.max(0, Math.min(completion.items.length - 1, completion.chosen + step))
          : completion.chosen + step,
      );
    else if ((event.key === "Enter" && !event.shiftKey) || (event.key === "Tab" && !event.shiftKey))
      accept(completion, completion.chosen);
    else if (event.key === "Escape") closeList(completion);
    else {
      if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") closeList(completion);
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation(); // the editor and the page have other uses for these keys
  });
  // what scrolls the editor; a run scrolls its tokens all the time
  addEventListener(
    "scroll",
    ({ target }) => target instanceof Node && target.contains(area) && closeList(completion),
    true,
  );
  addEventListener("resize", () => closeList(completion));
  return {
    /** The text was edited: by a letter the list opens or narrows. */
    typed(event) {
      const kind = event.inputType ?? "";
      if (completion.writing || event.isComposing) return;
      if (kind === "insertText" || (kind.startsWith("delete") && !list.hidden)) openList(completion, false);
      else closeList(completion);
    },
    close: () => closeList(completion),
    get open() {
      return !list.hidden;
    },
  };
}
