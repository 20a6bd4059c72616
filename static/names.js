/* Where things are named in a grammar's text: in come its coloured lines, out come the places at which a rule, a class or a
   part of a schema is called by its name, and those that define it. */

(() => {
  /** How rules are named, where they are called by name alone. */
  const RULES = { kbnf: /[A-Za-z_][A-Za-z0-9_]*/g, gbnf: /[A-Za-z_][\w-]*/g, lark: /_?[A-Za-z]\w*/g };
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
        for (const match of piece.matchAll(RULES[notation]))
          all.push(found(at + match.index, match[0], name === "rule"));
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
  function parts(lines) {
    const all = [],
      inside = [];
    let key = "";
    for (const [piece, name, at] of placed(lines)) {
      const pointer = name === "str" && key === '"$ref"' && POINTER.exec(piece);
      if (name === "rule" && PARTS.has(inside[inside.length - 1])) all.push(found(at + 1, piece.slice(1, -1), true));
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

  const READERS = { kbnf: rules, gbnf: rules, lark: rules, dataclass: classes, json_schema: parts };
  /** Every name outside strings and comments: [{from, to, word, defines}]. */
  wb.namesIn = (lines, notation) => READERS[notation]?.(lines, notation) ?? [];
})();
