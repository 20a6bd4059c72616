/* A machine's text as a model, and every edit of a drawing as an edit of the text: comments, the order of lines and
   whatever cannot be read stay as they are. The server reads the text in the same way and says what is wrong. */

const LETTERS = "[\\p{L}\\p{N}_'′]";
const WHOLE_NAME = new RegExp(`^${LETTERS}+$`, "u");
const DECLARATION = new RegExp(
  `^([ \\t]*(initial|final|place)(?!${LETTERS}|[ \\t]*(?:->|→))(?:[ \\t]*:)?)([^#]*)`,
  "u",
);
const EDGE = new RegExp(`^([ \\t]*)(${LETTERS}+)([ \\t]*(?:->|→)[ \\t]*)(${LETTERS}+)[ \\t]*(?:(:)|(?=#|$))`, "u");

/** Where a class ends that begins at ``at``. */
function classEnd(text, at) {
  at += text[at + 1] === "^" ? 2 : 1;
  const first = at;
  while (at < text.length && (text[at] !== "]" || at === first)) at += text[at] === "\\" ? 2 : 1;
  return Math.min(at, text.length);
}

/** Where the label that begins at ``at`` ends: at a comment or at the end of the line. */
function labelEnd(line, at) {
  for (; at < line.length && line[at] !== "#"; at++) {
    if (line[at] === "\\") at++;
    else if (line[at] === "[") at = classEnd(line, at);
  }
  return Math.min(at, line.length);
}

/** A label as it may be written: a number sign outside a class would begin a comment. */
function safeLabel(label) {
  const flat = label.replace(/\s+/g, " ").trim();
  const end = labelEnd(flat, 0);
  return end < flat.length ? safeLabel(`${flat.slice(0, end)}\\#${flat.slice(end + 1)}`) : flat || "ε";
}

/** @typedef {{ name: string, initial: boolean, final: boolean, place: { x: number, y: number } | null }} DrawnState
    @typedef {{ source: string, target: string, label: string, line: number, from: number, to: number }} DrawnEdge
    @typedef {{ lines: string[], starts: number[], kinds: string[], states: Map<string, DrawnState>,
      edges: DrawnEdge[], mentions: { name: string, line: number, from: number, to: number }[] }} Model */

/** The model of a text; lines in no known form have the kind "". @param {string} text @returns {Model} */
export function readMachine(text) {
  const lines = text.split("\n"),
    starts = [],
    kinds = [],
    states = new Map(),
    edges = [],
    mentions = [];
  const mention = (name, line, from) => {
    if (!states.has(name)) states.set(name, { name, initial: false, final: false, place: null });
    mentions.push({ name, line, from, to: from + name.length });
    return states.get(name);
  };
  let at = 0;
  lines.forEach((content, line) => {
    starts.push(at);
    at += content.length + 1;
    const declared = DECLARATION.exec(content),
      edge = declared ? null : EDGE.exec(content);
    kinds.push(declared ? declared[2] : edge ? "edge" : "");
    if (declared) {
      const words = [...declared[3].matchAll(/[^\s,]+/g)];
      const names = declared[2] === "place" ? words.slice(0, 1) : words;
      for (const word of names) {
        if (!WHOLE_NAME.test(word[0])) continue;
        const state = mention(word[0], line, declared[1].length + word.index);
        if (declared[2] === "place") {
          const [x, y] = words.slice(1).map(Number);
          if (words.length === 3 && Number.isFinite(x) && Number.isFinite(y)) state.place = { x, y };
        } else state[declared[2]] = true;
      }
    } else if (edge) {
      const [whole, indent, source, arrow, target, colon] = edge;
      mention(source, line, indent.length);
      mention(target, line, indent.length + source.length + arrow.length);
      const end = colon ? labelEnd(content, whole.length) : whole.trimEnd().length;
      const written = content.slice(colon ? whole.length : end, end);
      const from = (colon ? whole.length : end) + (written.length - written.trimStart().length);
      edges.push({ source, target, label: written.trim(), line, from, to: from + written.trim().length });
    }
  });
  return { lines, starts, kinds, states, edges, mentions };
}

/** The state or edge at a piece of the text: {state} or {edge: its index}, or null.
    @param {Model} model @param {number} from @param {number} to */
export function partAt(model, from, to) {
  const { mentions, starts, edges } = model;
  const named = mentions.find((one) => starts[one.line] + one.from === from && starts[one.line] + one.to === to);
  if (named) return { state: named.name };
  const line = starts.findLastIndex((start) => start <= from);
  const edge = edges.findIndex((one) => one.line === line);
  if (edge >= 0) return { edge };
  const other = mentions.find((one) => one.line === line);
  return other ? { state: other.name } : null;
}

// -- edits: text → text ----------------------------------------------------------------------------

/** Insert a line after the last line of one of the kinds, preferred ones first; else at the end. */
function inserted(model, line, ...kinds) {
  const lines = [...model.lines];
  let after = -1;
  for (const kind of kinds) if (after < 0) after = model.kinds.lastIndexOf(kind);
  if (after < 0) after = lines.findLastIndex((one) => one.trim());
  lines.splice(after + 1, 0, line);
  return lines.join("\n");
}
const replaced = (model, line, text) => model.lines.with(line, text).join("\n");
const without = (model, gone) => model.lines.filter((_, line) => !gone(line)).join("\n");
const number = (value) => String(Math.round(value * 10) / 10);

export const freeName = (model) => {
  let count = 0;
  while (model.states.has(`q${count}`)) count++;
  return `q${count}`;
};
export const isName = (text) => WHOLE_NAME.test(text);

/** Write where states are; @param {string} text @param {Map<string, { x: number, y: number }>} places */
export function placed(text, places) {
  for (const [name, { x, y }] of places) {
    const model = readMachine(text);
    const line = model.kinds.findIndex(
      (kind, at) => kind === "place" && model.mentions.some((one) => one.line === at && one.name === name),
    );
    const written = `place ${name} ${number(x)} ${number(y)}`;
    if (line < 0) text = inserted(model, written, "place");
    else {
      const comment = /#.*/.exec(model.lines[line])?.[0];
      text = replaced(model, line, comment ? `${written}  ${comment}` : written);
    }
  }
  return text;
}

export const withEdge = (text, source, target, label) =>
  inserted(readMachine(text), `${source} -> ${target} : ${safeLabel(label)}`, "edge", "final", "initial");

export function labelled(text, index, label) {
  const model = readMachine(text),
    edge = model.edges[index],
    line = model.lines[edge.line];
  const before = line.slice(0, edge.from),
    colon = /:[ \t]*$/.test(before);
  const head = colon ? `${before.trimEnd()} ` : `${before.trimEnd()} : `;
  const tail = line.slice(edge.to);
  return replaced(model, edge.line, `${head}${safeLabel(label)}${/^\s*$/.test(tail) ? "" : tail}`);
}

/** Make a state initial or final, or not any more. */
export function marked(text, name, word, wanted) {
  const model = readMachine(text);
  const named = model.mentions.filter((one) => one.name === name && model.kinds[one.line] === word);
  if (wanted && named.length) return text;
  if (wanted) {
    const line = model.kinds.indexOf(word);
    if (line < 0) {
      const lines = [...model.lines];
      const head = word === "final" ? model.kinds.lastIndexOf("initial") : -1;
      const first = lines.findIndex((one) => one.trim() && !one.trimStart().startsWith("#"));
      lines.splice(head >= 0 ? head + 1 : first < 0 ? lines.length : first, 0, `${word} ${name}`);
      return lines.join("\n");
    }
    const end = /[ \t]*(?:#.*)?$/.exec(model.lines[line])?.index;
    return replaced(model, line, `${model.lines[line].slice(0, end)} ${name}${model.lines[line].slice(end)}`);
  }
  for (const one of named.reverse()) {
    const line = model.lines[one.line];
    const left = line.slice(0, one.from).replace(/[ \t,]*$/, ""),
      right = line.slice(one.to);
    const alone = model.mentions.filter((each) => each.line === one.line).length === 1;
    model.lines[one.line] = alone ? "" : left + right;
    if (alone) model.lines.splice(one.line, 1);
  }
  return model.lines.join("\n");
}

export function withoutEdge(text, index) {
  const model = readMachine(text);
  return without(model, (line) => line === model.edges[index].line);
}

export function withoutState(text, name) {
  for (const word of ["initial", "final"]) text = marked(text, name, word, false);
  const model = readMachine(text);
  const gone = new Set(model.mentions.filter((one) => one.name === name).map((one) => one.line));
  return without(model, (line) => gone.has(line));
}

export function renamed(text, name, other) {
  const model = readMachine(text);
  for (const one of model.mentions.filter((each) => each.name === name).reverse())
    model.lines[one.line] = model.lines[one.line].slice(0, one.from) + other + model.lines[one.line].slice(one.to);
  return model.lines.join("\n");
}
