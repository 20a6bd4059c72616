/* The notations: what each is called, how its text is coloured, what a new tab begins with, and where a text names its
   rules. The colours only help the reader; the parser decides what is right or wrong. */

const SPACE = [/\s+/y, ""];
const STRINGS = [
  [/'(?:\\[\s\S]|[^'\\\n])*'?/y, "str"],
  [/"(?:\\[\s\S]|[^"\\\n])*"?/y, "str"],
];
const KBNF = [
  [/\(\*[\s\S]*?(?:\*\)|$)/y, "com"],
  [/#(?:substrs|ex|e)?'(?:\\[\s\S]|[^'\\])*'?/y, "rx"],
  [/#(?:substrs|ex|e)?"(?:\\[\s\S]|[^"\\])*"?/y, "rx"],
  [/'(?:\\[\s\S]|[^'\\])*'?/y, "str"],
  [/"(?:\\[\s\S]|[^"\\])*"?/y, "str"],
  [/except!/y, "rx"],
  [/[A-Za-z_][A-Za-z0-9_]*(?=\s*(?:::=|=))/y, "rule"],
  [/[A-Za-z_][A-Za-z0-9_]*/y, ""],
  [/::=|[=|;,*+?()[\]{}]/y, "op"],
  SPACE,
];
const REGEX = [
  [/\[\^?\]?(?:\\[\s\S]|\[:\w+:\]|[^\]\\])*\]?/y, "str"],
  [/\\(?:x[0-9A-Fa-f]{2}|u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|[pP]\{[^}]*\}|[\s\S])/y, "esc"],
  [/\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|[a-zA-Z]+\)|<?[=!]))?/y, "op"],
  [/[)|]/y, "op"],
  [/[*+?][?+]?|\{\d*,?\d*\}[?+]?/y, "rx"],
  [/[.^$]/y, "rule"],
];
const VERBOSE = [[/#.*/y, "com"], ...REGEX];
const JSON_SCHEMA = [
  [/"(?:\\[\s\S]|[^"\\\n])*"(?=\s*:)/y, "rule"],
  [/"(?:\\[\s\S]|[^"\\\n])*"?/y, "str"],
  [/-?\d[\d.eE+-]*|\b(?:true|false|null)\b/y, "rx"],
  [/[{}[\]:,]/y, "op"],
  SPACE,
];
const DATACLASS = [
  [/#.*/y, "com"],
  [/@[\w.]+/y, "op"],
  [/(?:"""|''')[\s\S]*?(?:"""|'''|$)/y, "com"],
  ...STRINGS,
  [/\b(?:class|from|import|as|None|True|False)\b/y, "op"],
  [/\w+(?=\s*:(?!=))/y, "rule"],
  [/\b\d[\w.]*/y, "rx"],
  [/\w+/y, ""],
  [/[()[\]{}|=:,.]/y, "op"],
  SPACE,
];
const GBNF = [
  [/#.*/y, "com"],
  [/"(?:\\[\s\S]|[^"\\\n])*"?/y, "str"],
  [/\[\^?\]?(?:\\[\s\S]|[^\]\\\n])*\]?/y, "rx"],
  [/[A-Za-z_][\w-]*(?=\s*::=)/y, "rule"],
  [/[A-Za-z_][\w-]*/y, ""],
  [/::=|[|*+?().]|\{\d*,?\d*\}/y, "op"],
  SPACE,
];
const LARK = [
  [/\/\/.*|#.*/y, "com"],
  [/"(?:\\[\s\S]|[^"\\\n])*"?i?/y, "str"],
  [/\/(?:\\[\s\S]|[^/\\\n])+\/[imslux]*/y, "rx"],
  [/%\w+/y, "op"],
  [/[?!]*_?[A-Za-z]\w*(?:\.-?\d+)?(?:\{[^}\n]*\})?(?=\s*:)/y, "rule"],
  [/\w+/y, ""],
  [/->|\.\.|[:|*+?()[\]{}~,]/y, "op"],
  SPACE,
];
const ABNF = [
  [/;.*/y, "com"],
  [/(?:%[sSiI])?"[^"\n]*"?/y, "str"],
  [/%[xXdDbB][0-9A-Fa-f.-]*/y, "rx"],
  [/<[^>\n]*>?/y, "com"],
  [/[A-Za-z][\w-]*(?=\s*=)/y, "rule"],
  [/[A-Za-z][\w-]*/y, ""],
  [/=\/?|[/()[\]]|\d*[*#]\d*|\d+/y, "op"],
  SPACE,
];
const EBNF = [
  [/\/\*[\s\S]*?(?:\*\/|$)|\(\*[\s\S]*?(?:\*\)|$)/y, "com"],
  [/'[^'\n]*'?|"[^"\n]*"?/y, "str"],
  [/\[\s*(?:\d+\w*\s*|[A-Za-z]{2,4}\s*:\s[^\]]*)\]/y, "com"],
  [/\[[^\]\n"' ]*\]|#x[0-9A-Fa-f]+|\?[^?\n]+\?/y, "rx"],
  [/[\p{L}_][\p{L}\p{N}_.]*(?:[ -][\p{L}\p{N}_.]+)*(?=\s*(?:::|:)?=)/uy, "rule"],
  [/[\p{L}_][\p{L}\p{N}_]*(?:-[\p{L}\p{N}_]+)*/uy, ""],
  [/::=|:=|=|[|/!*+?()[\]{},;.:-]|\d+/y, "op"],
  SPACE,
];
const ANTLR = [
  [/\/\/.*|\/\*[\s\S]*?(?:\*\/|$)/y, "com"],
  [/'(?:\\[\s\S]|[^'\\\n])*'?/y, "str"],
  [/\[(?:\\[\s\S]|[^\]\\\n])*\]?/y, "rx"],
  [/\{[^{}\n]*\}\??/y, "com"],
  [/(?:fragment|grammar|lexer|parser|mode|import|options|tokens|channels|returns|locals)\b/y, "op"],
  [/[\p{L}_][\p{L}\p{N}_]*(?=\s*:(?!:))/uy, "rule"],
  [/[\p{L}_][\p{L}\p{N}_]*/uy, ""],
  [/->|\.\.|::|\+=|[:|*+?()~;,.=#@{}<>]|\d+/y, "op"],
  SPACE,
];

const MACHINE = [
  [/#.*/y, "com"],
  [/(?:initial|final|place)(?=[ \t:])(?![ \t]*(?:->|→))/y, "op"],
  [/:[^#\n]*/y, "str"],
  [/[\p{L}\p{N}_'′]+/uy, ""],
  [/->|→/y, "op"],
  SPACE,
];

const WHITE_SPACE = {
  name: "whitespace",
  title: "White space: runs and the picture have one space, and tests accept any; other choices are for tests too",
  labels: {
    auto: "writes one space",
    any: "any blanks",
    "one space": "one space only",
    compact: "no blanks",
    "indent 2": "lines, indented by 2",
    "indent 4": "lines, indented by 4",
    "indent tab": "lines, indented by tabs",
  },
};

/** What a notation has on the page alone: ``one`` is its name in a sentence, ``targets`` the entries of the menu
    Convert, ``table`` its colours, ``layout`` the option that says how its texts are
    laid out, with what the page calls its choices, ``tab`` a shorter name of its tab, ``more`` whether it is in the
    menu after the tabs instead, ``begin`` what it opens with. */
const OWN = {
  regex: { one: "a regex", table: REGEX, begin: { text: "[0-9]+" } },
  kbnf: {
    table: KBNF,
    begin: { text: "start ::= 'yes' | 'no';" },
  },
  json_schema: {
    one: "a JSON Schema",
    tab: "Schema",
    table: JSON_SCHEMA,
    layout: WHITE_SPACE,
    begin: {
      max_tokens: 64,
      text: [
        "{",
        '  "type": "object",',
        '  "properties": {',
        '    "name": {"type": "string"},',
        '    "age": {"type": "integer", "minimum": 0, "maximum": 99},',
        '    "pet": {"enum": ["cat", "dog"]}',
        "  },",
        '  "required": ["name", "age"],',
        '  "additionalProperties": false',
        "}",
      ].join("\n"),
      prompt: "A person in JSON: ",
    },
  },
  structural_tag: {
    one: "a structural tag",
    tab: "Tags",
    more: true,
    table: JSON_SCHEMA,
    layout: WHITE_SPACE,
    begin: {
      max_tokens: 96,
      text: [
        "{",
        '  "type": "structural_tag",',
        '  "format": {',
        '    "type": "sequence",',
        '    "elements": [',
        "      {",
        '        "type": "tag",',
        '        "begin": "<think>",',
        '        "content": {"type": "any_text", "max_chars": 60},',
        '        "end": "</think>"',
        "      },",
        '      {"type": "json_schema", "json_schema": {"type": "integer"}}',
        "    ]",
        "  }",
        "}",
      ].join("\n"),
      prompt: "How much is 12 + 30?\n",
    },
  },
  dataclass: {
    one: "a Python dataclass",
    table: DATACLASS,
    layout: {
      name: "style",
      title: "How instances are written",
      labels: { call: "as calls", json: "as JSON" },
    },
    begin: {
      max_tokens: 64,
      text: "@dataclass\nclass Person:\n    name: str\n    age: int\n    tags: list[str]",
      prompt: "A person as a Python dataclass: ",
    },
  },
  gbnf: {
    table: GBNF,
    begin: { text: 'root ::= "yes" | "no"' },
  },
  lark: {
    table: LARK,
    begin: { text: 'start: "yes" | "no"' },
  },
  abnf: {
    one: "an ABNF grammar",
    more: true,
    table: ABNF,
    begin: { text: 'answer = "yes" / "no"' },
  },
  ebnf: {
    one: "an EBNF grammar",
    more: true,
    table: EBNF,
    begin: { text: 'answer ::= "yes" | "no"' },
  },
  antlr: {
    one: "an ANTLR grammar",
    more: true,
    table: ANTLR,
    begin: { text: "grammar Answer;\nanswer : 'yes' | 'no' ;" },
  },
  machine: {
    one: "a machine",
    targets: {
      subsets: "Machine (deterministic, sets of states)",
      machine: "Machine (deterministic, minimal)",
    },
    table: MACHINE,
    rules: false,
    begin: {
      text: [
        "initial even",
        "final even",
        "even -> odd : a",
        "odd -> even : a",
        "even -> even : b",
        "odd -> odd : b",
        "place even 100 100",
        "place odd 260 100",
      ].join("\n"),
    },
  },
};

/** The notations that the server has registered, by name: ``rules`` whether there is an outline of rules; ``written``
    whether grammars can be converted to it; ``choices`` the values of its options, the default first;
    ``numbers`` the options that are also a number; ``words`` those that are keywords with commas; ``finish``
    whether its runs must end within their budget by default. */
export const notations = Object.fromEntries(
  NOTATIONS.map((one) => [
    one.name,
    {
      ...one,
      one: `a ${one.label} grammar`,
      table: [SPACE],
      begin: { text: "" },
      ...OWN[one.name],
    },
  ]),
);

/** A text as [piece, class] pairs that spell it exactly. */
export const colour = (text, notation) =>
  pieces(text, notation === "regex" && /^\(\?[a-z]*x[a-z]*\)/i.test(text) ? VERBOSE : notations[notation].table);

function pieces(text, table) {
  const found = [];
  let at = 0;
  while (at < text.length) {
    let piece = text[at];
    let name = "";
    for (const [pattern, kind] of table) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match?.[0]) {
        piece = match[0];
        name = kind;
        break;
      }
    }
    const last = found[found.length - 1];
    if (last && last[1] === name) last[0] += piece;
    else found.push([piece, name]);
    at += piece.length;
  }
  return found;
}

/* Names in a grammar's text: where a rule, a class or a part of a schema is used by its name, and where it is
   defined. */

/** How rules are named, where they are called by name alone. */
const RULES = {
  kbnf: /[A-Za-z_][A-Za-z0-9_]*/g,
  gbnf: /[A-Za-z_][\w-]*/g,
  abnf: /[A-Za-z][\w-]*/g,
  ebnf: /[\p{L}_][\p{L}\p{N}_.-]*(?: [\p{L}\p{N}_.-]+)*/gu,
  antlr: /[\p{L}_][\p{L}\p{N}_]*/gu,
  lark: /_?[A-Za-z]\w*/g,
};
/** Keywords whose members are named parts, and what calls one by a pointer. */
const PARTS = new Set(['"$defs"', '"definitions"']),
  POINTER = /^"#\/(?:\$defs|definitions)\/([^"/\\~%]+)"$/;

/** Every piece with where it begins. */
function* placed(lines) {
  for (const line of lines) {
    let at = line.at;
    for (const [piece, name] of line.pieces) {
      yield [piece, name, at];
      at += piece.length;
    }
  }
}
const found = (at, word, defines) => ({ from: at, to: at + word.length, word, defines });

/** Rules: a line begins with the name of the one it defines. */
function rules(lines, notation) {
  const all = [];
  for (const [piece, name, at] of placed(lines)) {
    if (name === "rule" || name === "")
      for (const match of piece.matchAll(RULES[notation])) all.push(found(at + match.index, match[0], name === "rule"));
  }
  return all;
}

/** Classes: only what the text itself defines is named in it. */
function classes(lines) {
  const all = [];
  let before = "";
  for (const [piece, name, at] of placed(lines)) {
    if (name === "rule" || name === "")
      for (const match of piece.matchAll(/[A-Za-z_]\w*/g))
        all.push(found(at + match.index, match[0], before === "class"));
    if (piece.trim()) before = piece.trim();
  }
  const defined = new Set(all.filter((one) => one.defines).map((one) => one.word));
  return all.filter((one) => defined.has(one.word));
}

/** Parts of a schema: members of $defs, and the pointers to them. */
function parts(lines, keywords = PARTS) {
  const all = [],
    inside = [];
  let key = "";
  for (const [piece, name, at] of placed(lines)) {
    const pointer = name === "str" && key === '"$ref"' && POINTER.exec(piece);
    if (name === "rule" && keywords.has(inside[inside.length - 1]))
      all.push({ ...found(at + 1, piece.slice(1, -1), true), under: inside[inside.length - 1].slice(1, -1) });
    if (pointer) all.push(found(at + piece.length - 1 - pointer[1].length, pointer[1], false));
    if (name === "rule") key = piece;
    if (name === "op")
      for (const sign of piece) {
        if (sign === "{" || sign === "[") {
          inside.push(key);
          key = "";
        } else if (sign === "}" || sign === "]") inside.pop();
      }
  }
  return all;
}

/** The names of a schema's properties. */
export const propertiesIn = (lines) => parts(lines, new Set(['"properties"'])).filter((one) => one.defines);

const READERS = {
  kbnf: rules,
  gbnf: rules,
  abnf: rules,
  ebnf: rules,
  antlr: rules,
  lark: rules,
  dataclass: classes,
  json_schema: (lines) => parts(lines),
  structural_tag: (lines) => parts(lines),
};
/** Every name outside strings and comments: [{from, to, word, defines}]. */
export const namesIn = (lines, notation) => READERS[notation]?.(lines, notation) ?? [];
