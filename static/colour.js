/* Colours of the two notations: in comes text, out come [piece, class] pairs that spell it exactly.
   A reader's aid only: what is right or wrong is the parser's word, not this file's. */
(() => {
  "use strict";
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
    [/\s+/y, ""],
  ];
  const REGEX = [
    [/\[\^?\]?(?:\\[\s\S]|\[:\w+:\]|[^\]\\])*\]?/y, "str"],
    [/\\(?:x[0-9A-Fa-f]{2}|u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|[pP]\{[^}]*\}|[\s\S])/y, "esc"],
    [/\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|[a-zA-Z]+\)|<?[=!]))?/y, "op"],
    [/[)|]/y, "op"],
    [/[*+?][?+]?|\{\d*,?\d*\}[?+]?/y, "rx"],
    [/[.^$]/y, "rule"],
  ];

  function pieces(text, table) {
    const found = [];
    let at = 0;
    while (at < text.length) {
      let piece = text[at];
      let name = "";
      for (const [pattern, kind] of table) {
        pattern.lastIndex = at;
        const match = pattern.exec(text);
        if (match && match[0]) { piece = match[0]; name = kind; break; }
      }
      const last = found[found.length - 1];
      if (last && last[1] === name) last[0] += piece;
      else found.push([piece, name]);
      at += piece.length;
    }
    return found;
  }

  const VERBOSE = [[/#.*/y, "com"], ...REGEX];
  wb.colour = (text, notation) => pieces(text, notation === "kbnf" ? KBNF : /^\(\?[a-z]*x[a-z]*\)/i.test(text) ? VERBOSE : REGEX);
})();
