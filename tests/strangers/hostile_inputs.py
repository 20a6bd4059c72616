"""Hostile inputs: short or large texts that make some construction explode, each with its reason.

``HOSTILE`` has a row for each input. A text is made when it is asked for: some have megabytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.grammar.notations import Notation


@dataclass(frozen=True, slots=True)
class Hostile:
    """An input: the text of a grammar, and a text that is read with it."""

    name: str
    notation: Notation
    make: Callable[[], str]
    #: Which construction it makes large, and how.
    why: str
    #: A text to check, parse, find and explain: long enough for ambiguity to count.
    reads: str = "a" * 40

    @property
    def text(self) -> str:
        return self.make()


# -- grammars as rules ----------------------------------------------------------------------------


def rules(count: int, body: str, last: str = "'a'", start: str = "start ::= r0;") -> str:
    """A chain of rules; ``body`` names the rule itself ``{i}`` and the next one ``{j}``."""
    chain = "\n".join(f"r{i} ::= {body.format(i=i, j=i + 1)};" for i in range(count))
    return f"{start}\n{chain}\nr{count} ::= {last};"


def alternatives(count: int) -> str:
    return "start ::= " + " | ".join(f"'w{number}'" for number in range(count)) + ";"


def unit_cycle(length: int) -> str:
    members = "\n".join(f"r{i} ::= r{(i + 1) % length} | 'a{i}';" for i in range(length))
    return f"start ::= r0;\n{members}"


def scattered(count: int) -> str:
    called = "\n".join(
        f"r{i} ::= 'a{i}' r{(7 * i + 3) % count} 'b' | 'c' r{(3 * i + 1) % count} | #'[a-z]*';"
        for i in range(count)
    )
    return f"start ::= r0;\n{called}"


def template_chain(count: int) -> str:
    made = "\n".join(f"t{i}{{x}}: t{i + 1}{{x}} t{i + 1}{{x}}" for i in range(count))
    return f'start: t0{{A}}\n{made}\nt{count}{{x}}: x\nA: "a"'


def growing_templates(count: int) -> str:
    return f't{{x, y}}: x t{{x y, y}} | y\nstart: {" ".join(["t{A, A}"] * count)}\nA: "a"'


LINES = '//%indenter {"NL_type": "_NL"}\n%declare _INDENT _DEDENT\n_NL: /\\n[ ]*/\nA: "a"\n'


# -- regexes --------------------------------------------------------------------------------------


def parity_product(letters: str) -> str:
    """An even number of each letter: the states are all subsets of the letters."""
    looks = "".join(f"(?=(?:[^{x}]*{x}[^{x}]*{x})*[^{x}]*$)" for x in letters)
    return f"{looks}[{letters}]*"


# -- machines -------------------------------------------------------------------------------------


def clique(states: int) -> str:
    """Every state leads to every other one by the empty text."""
    edges = "\n".join(f"q{i} -> q{j} : ε" for i in range(states) for j in range(states) if i != j)
    return f"initial q0\nfinal q{states - 1}\nq0 -> q1 : a\n{edges}"


def dense(states: int, edges: int) -> str:
    rows = "\n".join(
        f"q{i} -> q{(i * 31 + 17 * k + 1) % states} : {chr(97 + k % 20)}"
        for i in range(states)
        for k in range(edges)
    )
    return f"initial q0\nfinal q{states - 1}\n{rows}"


def nth_from_end(count: int) -> str:
    """The letter a at a place counted from the end: the subset construction doubles each time."""
    chain = "\n".join(f"q{i} -> q{i + 1} : a, b" for i in range(1, count))
    return f"initial q0\nfinal q{count}\nq0 -> q0 : a, b\nq0 -> q1 : a\n{chain}"


# -- JSON Schemas ---------------------------------------------------------------------------------


def dumped(value: Any) -> Callable[[], str]:
    return lambda: json.dumps(value)


def each_optional(count: int) -> list[dict[str, Any]]:
    return [{"properties": {f"p{i}": {"enum": [i, str(i)]}}} for i in range(count)]


def conditions(count: int) -> dict[str, Any]:
    """Each condition is decided by a property of its own: the cases are all subsets."""
    return {
        "allOf": [
            {
                "if": {"properties": {f"c{i}": {"const": True}}, "required": [f"c{i}"]},
                "then": {"required": [f"t{i}"]},
                "else": {"required": [f"e{i}"]},
            }
            for i in range(count)
        ]
    }


def depth(key: str, count: int, last: str = "{}") -> Callable[[], str]:
    return lambda: f'{{"{key}": ' * count + last + "}" * count


def negations(count: int) -> Any:
    inner: Any = {"type": "object", "properties": {"a": {"minimum": 3}}}
    for _ in range(count):
        inner = {"not": {"allOf": [inner, {"not": {"required": ["b"]}}]}}
    return inner


def overlapping(count: int) -> dict[str, Any]:
    """Patterns that all overlap: the regions of names are all subsets."""
    return {"patternProperties": {f"^.*k{i}": {"minimum": i} for i in range(count)}}


def recursive_unions(count: int) -> dict[str, Any]:
    """Definitions that are unions and intersections of each other."""
    names = [{"$ref": f"#/$defs/d{i}"} for i in range(count)]
    defs: dict[str, Any] = {
        f"d{i}": {
            "allOf": [
                {"anyOf": [{"items": names[(i + 1) % count]}, {"type": "integer", "minimum": i}]},
                {"properties": {f"p{i}": names[(i + 2) % count], "q": names[(3 * i) % count]}},
            ]
        }
        for i in range(count)
    }
    return {"$ref": "#/$defs/d0", "$defs": defs}


# -- dataclasses ----------------------------------------------------------------------------------


def options(count: int) -> str:
    fields = "\n".join(f"    f{i}: int = {i}" for i in range(count))
    return f"from dataclasses import dataclass\n\n@dataclass\nclass Options:\n{fields}\n"


def unions(count: int) -> str:
    classes = "\n".join(
        f"@dataclass\nclass C{i}:\n    a: 'C{(i + 1) % count} | C{(i * 7) % count} | int'\n"
        f"    b: 'list[C{(i + 2) % count}] | dict[str, C{i}] | None' = None\n"
        for i in range(count)
    )
    return f"from __future__ import annotations\nfrom dataclasses import dataclass\n\n{classes}"


# -- structural tags ------------------------------------------------------------------------------


def tag(form: dict[str, Any]) -> Callable[[], str]:
    return dumped({"type": "structural_tag", "format": form})


def nested_tags(count: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "any_text", "excludes": [f"x{i}" for i in range(count)]}
    for i in range(count):
        inner = {"type": "tag", "begin": f"<t{i}>", "content": inner, "end": f"</t{i}>"}
    return inner


def triggered(count: int) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tags = [
        {
            "type": "tag",
            "begin": f"<f{'a' * (i % 30)}{i}>",
            "content": {"type": "json_schema", "json_schema": schema},
            "end": "</f>",
        }
        for i in range(count)
    ]
    return {"type": "triggered_tags", "triggers": ["<f"], "tags": tags}


_R, _K, _G, _L = Notation.REGEX, Notation.KBNF, Notation.GBNF, Notation.LARK
_S, _T, _M, _D = (
    Notation.JSON_SCHEMA,
    Notation.STRUCTURAL_TAG,
    Notation.MACHINE,
    Notation.DATACLASS,
)

HOSTILE: tuple[Hostile, ...] = (
    # -- regexes
    Hostile("a or aa", _R, lambda: "(a|aa)*", "as many derivations as Fibonacci's numbers"),
    Hostile("stars of stars", _R, lambda: "(" * 60 + "a" + ")*" * 60, "each star is empty too"),
    Hostile("plus of plus", _R, lambda: "(" * 90 + "a?" + ")+" * 90, "closures of empty parts"),
    Hostile("nth from the end", _R, lambda: "(a|b)*a(a|b){24}", "2^25 subsets"),
    Hostile("parity of 14 letters", _R, lambda: parity_product("abcdefghijklmn"), "a product of machines", "abcdefghijklmn" * 2),
    Hostile("parity of 20 letters", _R, lambda: parity_product("abcdefghijklmnopqrst"), "a product of machines", "abcdefghijklmnopqrst" * 2),
    Hostile("lookaheads, 12", _R, lambda: "".join(f"(?=.*{chr(97 + i)})" for i in range(12)) + ".*", "all subsets of conditions", "abcdefghijkl"),
    Hostile("lookaheads, 20", _R, lambda: "".join(f"(?=.*{chr(97 + i)})" for i in range(20)) + ".*", "all subsets of conditions", "abcdefghijklmnopqrst"),
    Hostile("lookbehinds, 12", _R, lambda: ".*" + "".join(f"(?<={chr(97 + i)}.*)" for i in range(12)), "all subsets of conditions", "abcdefghijkl"),
    Hostile("lookbehinds, 20", _R, lambda: ".*" + "".join(f"(?<={chr(97 + i)}.{{{i}}})" for i in range(20)), "windows of many lengths", "abcdefghijklmnopqrst"),
    Hostile("negative lookaheads", _R, lambda: "".join(f"(?!.*{a}{b})" for a in "abcde" for b in "abcd") + "[a-e]*", "complements in a product", "aebec"),
    Hostile("soup of properties", _R, lambda: r"(\p{L}|\p{N}|\P{Lu}|[^\p{L}\p{M}]|\p{Han}|\p{Cyrillic})*", "classes of many ranges", "aЖ汉1" * 9),
    Hostile("windows of properties", _R, lambda: r"(\p{L}{1,4}\P{L}{1,4}){1,8}", "many states times many ranges", "ab cd " * 9),
    Hostile("word windows", _R, lambda: r"(?:\b\w{1,30}\b\W{1,9}){1,60}", "counts of counts with borders", "ab cd " * 9),
    Hostile("counts of counts", _R, lambda: "((a{0,40}b?){0,40}c?){0,40}", "a product of counts", "aabac" * 8),
    Hostile("nested counts", _R, lambda: "((a{1,30}){1,30}){1,30}", "27,000 copies that overlap"),
    Hostile("options in a row", _R, lambda: "a?" * 3_000 + "a" * 3_000, "closures as long as the row", "a" * 3_500),
    Hostile("anything in a row", _R, lambda: ".*" * 1_500 + "x", "each part reads everything", "abcx" * 9),
    Hostile("parentheses, 10^5", _R, lambda: "(" * 100_000 + "a" + ")" * 100_000, "recursion in a parser"),
    Hostile("alternatives, 10^5", _R, lambda: "|".join(f"w{i}" for i in range(100_000)), "a large trie", "w99999"),
    Hostile("shared middles", _R, lambda: "|".join(f"{chr(97 + i % 26)}(xy|z{i}){{1,9}}{chr(97 + i // 26 % 26)}" for i in range(1_500)), "suffixes that merge late", "axyxyb"),
    Hostile("class of 60,000", _R, lambda: f"[{''.join(map(chr, range(0x100, 0xD000, 2)))}]+", "a class of 26,000 ranges", "ĀĂ" * 20),
    Hostile("class of 2 MB", _R, lambda: "[" + "ab-c" * 500_000 + "]", "a class of a million items", "abc"),
    Hostile("intersections by complement", _R, lambda: "(?!(?!(?!(?!(?!.*a.{9}b).*c.{9}).*d.{8}).*e.{7}).*f.{6}).*", "complements of complements", "abcdef" * 5),
    Hostile("delimited subsequence", _R, lambda: "(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>, )" + "|".join(f"item{i}" for i in range(900)) + ")", "edges are the square of the items", "item1, item2"),
    Hostile("substrings", _R, lambda: "(?P<SUBSTRING_OF>" + "abaababaabaab" * 900 + ")", "all parts of a long text", "abaab"),
    Hostile("text until, nested", _R, lambda: "(?P<TEXT_UNTIL>abcabcabd)" * 40, "a row of complements", "xabcabcabd" * 40),
    Hostile("case ignored", _R, lambda: "(?i)" + "(straße|ſtraſſe|ŉ|ΐ){1,50}" * 8, "classes of cases", "straße" * 8),
    Hostile("back and forth", _R, lambda: "(?:(?<=ab)c|(?<!bc)a|b(?=ca))*", "assertions in a loop", "abcab" * 8),
    # -- rules
    Hostile("unit cycle of 2", _K, lambda: "start ::= a; a ::= b | 'x'; b ::= a | 'y';", "derivations without end", "x"),
    Hostile("unit cycle of 300", _K, lambda: unit_cycle(300), "a closure of 300 rules", "a299"),
    Hostile("three of itself", _K, lambda: "start ::= start start start | 'a' | '';", "cubic ambiguity, also of nothing"),
    Hostile("doubling, 60", _K, lambda: rules(60, "r{j} r{j}"), "2^60 letters in 60 rules"),
    Hostile("doubling or one, 60", _K, lambda: rules(60, "r{j} r{j} | r{j}"), "2^60 paths of calls"),
    Hostile("doubling with ends, 60", _K, lambda: rules(60, "'(' r{j} ')' r{j} | r{j} | ''"), "2^60 stacks", "(" * 20 + ")" * 20),
    Hostile("palindromes", _K, lambda: "start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b' | '';", "not deterministic", "ab" * 30 + "ba" * 30),
    Hostile("palindromes in a row", _K, lambda: "start ::= p p p p; p ::= 'a' p 'a' | 'b' p 'b' | '';", "not deterministic, four times", "abba" * 20),
    Hostile("hidden left recursion", _K, lambda: "start ::= e start 'a' | 'b'; e ::= f?; f ::= e 'c'?;", "an empty rule before the recursion", "b" + "a" * 40),
    Hostile("hidden left recursion, 40", _K, lambda: rules(40, "e r{j} r0 'a' | e 'b'", "r0 | 'c'", "start ::= r0;\ne ::= 'x'? | e e;"), "each rule begins with every other", "b" * 20 + "a" * 20),
    Hostile("optional recursion, 60", _K, lambda: "start ::= " + "('a' start? 'b')? " * 60 + ";", "states and stacks in a product", "aabb" * 9),
    Hostile("optional recursion, 120", _K, lambda: "start ::= " + "('a' start? 'b')? " * 120 + ";", "states and stacks in a product", "aabb" * 9),
    Hostile("200 rules that may be empty", _K, lambda: rules(200, "r{j}? r{j}? 'a'? | r0 'b'"), "closures through all rules"),
    Hostile("nested repetition, 60", _K, lambda: "start ::= " + "(" * 60 + "'a'" + ")*" * 60 + ";", "each level is empty too"),
    Hostile("parentheses in rules, 10^5", _K, lambda: "start ::= " + "(" * 100_000 + "'a'" + ")" * 100_000 + ";", "recursion in a parser"),
    Hostile("alternatives of rules, 10^5", _K, lambda: alternatives(100_000), "a large trie", "w99999"),
    Hostile("one rule 5,000 times", _K, lambda: "start ::= 'a' start 'b';\n" * 5_000 + "start ::= 'c';", "equal alternatives", "aaacbbb"),
    Hostile("rules all over", _K, lambda: scattered(300), "calls between all rules", "a0a3bb"),
    Hostile("rules all over, 5,000", _K, lambda: scattered(5_000), "calls between all rules", "a0a3bb"),
    Hostile("a chain of 20,000", _K, lambda: rules(20_000, "'a' r{j} 'b' | 'c'"), "deep calls", "aaacbbb"),
    Hostile("excepted words", _K, lambda: "start ::= except!(e) '(' start ')' | 'x'; e ::= " + " | ".join(f"'{'ab' * (i % 40)}{i}'" for i in range(2_000)) + ";", "a complement of a trie", "ab(x)"),
    Hostile("excepted regex", _K, lambda: r"start ::= #ex'(a|b)*a(a|b){18}' start | 'x';", "a complement of 2^19 states", "ab"),
    Hostile("substrings in rules", _K, lambda: "start ::= #substrs'" + "abaababaabaab" * 500 + "' '(' start ')' | 'x';", "a suffix automaton", "ab(x)"),
    Hostile("regexes that overlap", _K, lambda: "start ::= (a | b | c) start | 'x'; a ::= #'[a-z]{1,40}'; b ::= #'[a-y]*z?'; c ::= #'.*?';", "ambiguous borders of terminals"),
    Hostile("expressions by hand", _K, lambda: "start ::= start '+' start | start '*' start | start '-' start | '(' start ')' | 'a';", "ambiguous operators", "a" + "+a*a-a" * 15),
    Hostile("a grammar of 100 kB", _K, lambda: "start ::= 'x';\n" + "".join(f"r{i} ::= 'k{i}' start | #'[a-z]{{1,9}}' r{i // 2};\n" for i in range(2_500)) + "start ::= r2499;", "a long text", "k1x"),
    Hostile("a comment of 2 MB", _K, lambda: "(* " + "a * " * 500_000 + " *) start ::= 'a';", "a long comment"),
    Hostile("contexts of a chain", _K, lambda: "start ::= ('a' | 'b') r0;\n" + "\n".join(f"r{i} ::= 'x' r{i + 1} | r{(i * 7) % 200};" for i in range(200)) + "\nr200 ::= #'(?<=a[^;]*);' | 'y';", "what is before the text differs", "axxx;"),
    Hostile("a row of calls", _K, lambda: f"a ::= 'x' | 'y'; start ::= {'a ' * 20_000};", "a long rule", "xy" * 20),
    # -- GBNF
    Hostile("GBNF, doubling", _G, lambda: "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1} r{i + 1} | r{i + 1}" for i in range(60)) + '\nr60 ::= "a"', "2^60 paths of calls"),
    Hostile("GBNF, counts", _G, lambda: 'root ::= (("a"{0,12} "b"?){0,12} root?){0,12}', "a product of counts", "aab" * 13),
    Hostile("GBNF, alternatives", _G, lambda: "root ::= " + " | ".join(f'"w{i}" root?' for i in range(20_000)), "a large choice", "w1w2"),
    Hostile("GBNF, 1 MB", _G, lambda: "root ::= " + '"a" ' * 250_000, "a long rule"),
    # -- Lark
    Hostile("Lark, templates", _L, lambda: template_chain(40), "2^40 instances of templates"),
    Hostile("Lark, growing templates", _L, lambda: growing_templates(6), "arguments that grow without end"),
    Hostile("Lark, lines in repetitions", _L, lambda: f"{LINES}start: {'(' * 40}A _NL{' A?)+' * 40}", "indentation in nested loops", "a\na\n"),
    Hostile("Lark, empty rules of lines", _L, lambda: LINES + "start: r0\n" + "\n".join(f"r{i}: r{i + 1} |" for i in range(300)) + "\nr300: A _NL [_INDENT r0 _DEDENT]", "indentation in empty rules", "a\n"),
    Hostile("Lark, terminals", _L, lambda: "start: (" + " | ".join(f"T{i}" for i in range(60)) + ")*\n" + "\n".join(f"T{i}: /[a-z]{{{i + 1},{2 * i + 2}}}/" for i in range(60)), "terminals that all overlap"),
    Hostile("Lark, ignored", _L, lambda: 'start: (A B? C?)~1..40 start?\nA: "a" /b*/\nB: /b+/\nC: /(a|b)+/\n%ignore /[ ab]/', "ignored text that is not ignored", "abab" * 10),
    # -- JSON Schemas
    Hostile("allOf, 30", _S, lambda: json.dumps({"type": "object", "allOf": each_optional(30)}), "an intersection of 30", '{"p1": 1}'),
    Hostile("anyOf in allOf, 12", _S, lambda: json.dumps({"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(12)]}), "2^12 combinations", '{"a1": 1}'),
    Hostile("conditions, 16", _S, lambda: json.dumps(conditions(16)), "2^16 cases", '{"c1": true}'),
    Hostile("oneOf, 40", _S, lambda: json.dumps({"oneOf": [{"properties": {f"p{i}": {"type": "integer"}}, "required": [f"p{i}"]} for i in range(40)]}), "each without all others", '{"p1": 1}'),
    Hostile("oneOf of numbers", _S, lambda: json.dumps({"oneOf": [{"multipleOf": k} for k in range(3, 40, 2)]}), "remainders in a product", "105"),
    Hostile("negations, 3", _S, lambda: json.dumps(negations(3)), "complements of complements", '{"a": 5}'),
    Hostile("negations, 12", _S, lambda: json.dumps(negations(12)), "complements of complements", '{"a": 5}'),
    Hostile("unique items, 14", _S, lambda: json.dumps({"items": {"enum": list("abcdefghijklmn")}, "uniqueItems": True}), "14! orders, 2^14 subsets", '["a", "b"]'),
    Hostile("unique items, 40", _S, lambda: json.dumps({"items": {"enum": list(range(40))}, "uniqueItems": True}), "2^40 subsets", "[1, 2]"),
    Hostile("multiple of 1e-9", _S, dumped({"multipleOf": 1e-9, "minimum": -1e9, "maximum": 1e9}), "a count of 10^18", "0.000000001"),
    Hostile("multiple of 9999991", _S, dumped({"type": "integer", "multipleOf": 9_999_991}), "ten million remainders", "9999991"),
    Hostile("multiple of 9973", _S, dumped({"type": "integer", "multipleOf": 9_973}), "ten thousand remainders", "9973"),
    Hostile("multiples that combine", _S, dumped({"allOf": [{"multipleOf": 997}, {"multipleOf": 991}, {"multipleOf": 983}], "type": "integer"}), "a product of remainders", "0"),
    Hostile("enum, 10^5", _S, lambda: json.dumps({"enum": [f"v{i}" for i in range(100_000)]}), "a large trie", '"v99999"'),
    Hostile("$ref cycle of 2", _S, dumped({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}), "a reference without end", "1"),
    Hostile("$ref cycle of 300", _S, lambda: json.dumps({"$ref": "#/$defs/d0", "$defs": {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{(i + 1) % 300}"}, {"type": "array", "items": {"$ref": f"#/$defs/d{(7 * i) % 300}"}}]} for i in range(300)}}), "unions through a cycle", "[[]]"),
    Hostile("$ref in combinations, 9", _S, lambda: json.dumps(recursive_unions(9)), "definitions combined without end", '{"q": 5}'),
    Hostile("depth 10^5", _S, depth("not", 100_000), "recursion in a reader", "1"),
    Hostile("depth 60", _S, depth("items", 60, '{"type": "integer"}'), "nested arrays", "[[[1]]]"),
    Hostile("dependent, 14", _S, lambda: json.dumps({"properties": {f"p{i}": {} for i in range(14)}, "additionalProperties": False, "dependentRequired": {f"p{i}": [f"p{(i * 5 + 3) % 14}", f"p{(i + 7) % 14}"] for i in range(14)}}), "subsets of properties", '{"p1": 1}'),
    Hostile("patterns of names, 50", _S, lambda: json.dumps(overlapping(50)), "2^50 regions of names", '{"k1": 1}'),
    Hostile("patterns of names, 6", _S, lambda: json.dumps(overlapping(6)), "2^6 regions of names", '{"k1": 1}'),
    Hostile("any order, 12", _S, lambda: json.dumps({"properties": {f"p{i}": {"type": "integer"} for i in range(12)}, "required": [f"p{i}" for i in range(12)], "minProperties": 6, "additionalProperties": {"type": "null"}}), "counts of properties", '{"p0": 1}'),
    Hostile("counted properties", _S, dumped({"minProperties": 90, "maxProperties": 400, "patternProperties": {"^a": {}, "a$": {"type": "string"}}}), "a product of counts", '{"a": "b"}'),
    Hostile("long strings", _S, dumped({"type": "string", "minLength": 4_000, "maxLength": 9_000, "pattern": "(ab|c.){3,}[^x]*$"}), "a pattern times a length", '"' + "ab" * 30),
    Hostile("contains", _S, dumped({"type": "array", "contains": {"type": "array", "contains": {"multipleOf": 7}, "minContains": 3}, "minContains": 20, "maxContains": 60, "minItems": 90}), "counts of counts", "[[7, 7, 7]]"),
    Hostile("unevaluated", _S, lambda: json.dumps({"allOf": [{"anyOf": [{"properties": {f"p{i}": {"const": i}}, "required": [f"p{i}"]}, {}]} for i in range(12)], "unevaluatedProperties": False}), "which parts held", '{"p1": 1}'),
    Hostile("a schema of 2 MB", _S, lambda: json.dumps({"properties": {f"name {i}": {"type": "string", "description": "x" * 400} for i in range(4_000)}, "additionalProperties": False}), "a long text", '{"name 1": "a"}'),
    # -- machines
    Hostile("nth from the end, machine", _M, lambda: nth_from_end(24), "2^24 subsets", "ab" * 30),
    Hostile("clique of ε, 250", _M, lambda: clique(250), "62,250 empty edges", "aaa"),
    Hostile("300 states of 20 edges", _M, lambda: dense(300, 20), "6,000 edges, few that merge", "abcabc"),
    Hostile("5,000 states of 20 edges", _M, lambda: dense(5_000, 20), "10^5 edges", "abcabc"),
    Hostile("labels that are regexes", _M, lambda: "initial p\nfinal q\n" + "\n".join(f"p -> q : (a|b)*a(a|b){{{i}}}c\nq -> p : (a|bb|c{{{i}}})*" for i in range(1, 15)), "generalised edges", "abac" * 5),
    # -- dataclasses
    Hostile("dataclass of 200 options", _D, lambda: options(200), "arguments in any order", "Options(f1=1)"),
    Hostile("dataclasses in a cycle", _D, lambda: unions(12), "unions of classes", "C0(a=1)"),
    # -- structural tags
    Hostile("tags in tags", _T, tag(nested_tags(20)), "ends of tags are excluded inside", "<t19><t18>"),
    Hostile("200 triggered tags", _T, tag(triggered(200)), "free text between many tags", "hello <fa1>"),
    Hostile("tag of any text", _T, tag({"type": "sequence", "elements": [{"type": "any_text", "excludes": [f"{'ab' * i}c" for i in range(1, 40)]}] * 20}), "free text in a row", "abab"),
)  # fmt: skip
