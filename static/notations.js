/* The notations a grammar may be written in: what each is called, how its text is coloured, what to begin with.
   The colours are a reader's aid only: what is right or wrong is the parser's word, not this file's. */
(() => {
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

  const LAYOUTS = [
    ["any", "any blanks"],
    ["one space", "one space"],
    ["compact", "no blanks"],
  ];
  const CALLS = [
    ["call", "as calls"],
    ["json", "as JSON"],
  ];
  const named = (styles) => styles.map(([name, label]) => ({ name, label }));

  /** ``one`` is for sentences; ``rules`` says whether there is an outline of them, ``written`` whether other notations are converted to it, ``styles`` in which
      ways its texts may be laid out, the usual one first, ``begin`` is what its tab opens with. */
  wb.notations = {
    regex: { label: "Regex", one: "a regex", suffix: ".regex", written: true, table: REGEX, begin: { text: "[0-9]+" } },
    kbnf: {
      label: "KBNF",
      one: "a KBNF grammar",
      suffix: ".kbnf",
      written: true,
      table: KBNF,
      rules: true,
      begin: { text: "start ::= 'yes' | 'no';" },
    },
    json_schema: {
      label: "JSON Schema",
      one: "a JSON Schema",
      suffix: ".schema.json",
      table: JSON_SCHEMA,
      rules: true,
      ask: "White space",
      styles: named(LAYOUTS),
      begin: {
        style: "one space",
        max_tokens: 64,
        text: '{\n  "type": "object",\n  "properties": {\n    "name": {"type": "string"},\n    "age": {"type": "integer", "minimum": 0, "maximum": 99},\n    "pet": {"enum": ["cat", "dog"]}\n  },\n  "required": ["name", "age"],\n  "additionalProperties": false\n}',
        prompt: "A person in JSON: ",
      },
    },
    dataclass: {
      label: "Dataclass",
      one: "a Python dataclass",
      suffix: ".dataclass.py",
      table: DATACLASS,
      rules: true,
      ask: "How instances are written",
      styles: named(CALLS),
      begin: {
        max_tokens: 64,
        text: "@dataclass\nclass Person:\n    name: str\n    age: int\n    tags: list[str]",
        prompt: "A person as a Python dataclass: ",
      },
    },
    gbnf: {
      label: "GBNF",
      one: "a GBNF grammar",
      suffix: ".gbnf",
      written: true,
      table: GBNF,
      rules: true,
      begin: { text: 'root ::= "yes" | "no"' },
    },
    lark: {
      label: "Lark",
      one: "a Lark grammar",
      suffix: ".lark",
      written: true,
      table: LARK,
      rules: true,
      begin: { text: 'start: "yes" | "no"' },
    },
  };

  /** A text as [piece, class] pairs that spell it exactly. */
  wb.colour = (text, notation) =>
    pieces(text, notation === "regex" && /^\(\?[a-z]*x[a-z]*\)/i.test(text) ? VERBOSE : wb.notations[notation].table);

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
})();
