r"""The syntax card of each notation: its constructs, what each means, and what a click inserts.

An insertion has its replaceable part between ``‹`` and ``›``. If the displayed text contains ``…``,
a text that is selected in the editor becomes that part. An insertion that begins with a line break
takes a separate line, whatever is selected. Every construct has a ``frame``, a small grammar with
``‸`` where it is inserted, and a text that this grammar accepts and one that it rejects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.app.ui import wire_cards
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.requests import NotationRequest
from workbench.app.ui.shares import LIGHT
from workbench.grammar.notations import Notation


@dataclass(frozen=True, slots=True)
class Construct:
    """A row of a card."""

    text: str
    about: str
    insert: str
    accepted: str
    rejected: str
    #: Where it is inserted for its example; empty for the frame of its notation.
    frame: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """The constructs of a notation by group, and a small grammar that most of them fit into."""

    frame: str
    groups: Mapping[str, tuple[Construct, ...]]

    def example(self, construct: Construct) -> str:
        """A small grammar with the construct in it, whose replaceable part is marked."""
        return (construct.frame or self.frame).replace("‸", construct.insert)


_REGEX = Card(
    "‸",
    {
        "One character": (
            Construct(".", "any character but a line feed", ".", "x", "\n"),
            Construct("[…]", "one of these; a-z is a range", "[‹a-z›]", "k", "K"),
            Construct("[^…]", "any character but these", "[^‹0-9›]", "x", "7"),
            Construct(
                r"\d", "a digit of any script; [0-9] has those of ASCII only", r"\d", "7", "x"
            ),
            Construct(r"\w", "a letter, a digit or _", r"\w", "é", "-"),
            Construct(r"\s", "white space, line feeds included", r"\s", " ", "x"),
            Construct(
                r"\p{L}",
                "a character of a Unicode category, property or script, such as L, Nd or Greek",
                r"\p{‹L›}",
                "ж",
                "1",
            ),
            Construct(r"\n", "a line feed; \\t is a tab", r"\n", "\n", "n"),
            Construct(
                r"\.",
                r"a dot: after a backslash, signs such as . * ( [ mean themselves",
                r"\‹.›",
                ".",
                "x",
            ),
        ),
        "Repetition": (
            Construct("…?", "once or not at all", "‹a›?", "", "aa"),
            Construct("…*", "any number of times, or not at all", "‹a›*", "aaa", "b"),
            Construct("…+", "once or more", "‹a›+", "aa", ""),
            Construct("…{2,4}", "2 to 4 times; {2} is twice, {2,} twice or more", "‹a›{2,4}",
                      "aaa", "a"),
        ),
        "Combination": (
            Construct("…|b", "one or the other", "‹a›|b", "b", "c"),
            Construct("(…)", "a group: | ends at its brackets, and a repetition repeats all of it",
                      "(‹ab›)", "abab", "aba", "‸+"),
            Construct("(?i:…)", "upper case and lower case are the same", "(?i:‹ab›)", "aB", "b"),
            Construct("(?=…)", "this must follow; it is not read yet", "(?=‹a›)", "ab", "ba",
                      "‸[a-z]+"),
            Construct("(?!…)", "this must not follow", "(?!‹a›)", "ba", "ab", "‸[a-z]+"),
        ),
    },
)  # fmt: skip

_KBNF = Card(
    "start ::= ‸;",
    {
        "Rules": (
            Construct("name ::= …;", "a rule; every text begins with the rule start",
                      "\nname ::= ‹'a'›;", "a", "b", "start ::= name;‸"),
            Construct("(* … *)", "a comment", "(* ‹note› *)", "a", "b", "start ::= 'a' ‸;"),
        ),
        "Texts": (
            Construct("'…'", "this text, in single or double quotes", "'‹abc›'", "abc", "ab"),
            Construct(r"'\n'", r"a line feed; \t, \\ and \' are escapes too", r"'\n'", "\n", "n"),
            Construct("#'…'", r"a regex; \d is written \\d here", "#'‹[0-9]+›'", "42", "x"),
            Construct("#e'…'", "a match of a regex that no shorter match begins", "#e'‹.*;›'",
                      "ab;", "a;b;"),
            Construct("#ex'…'", "a text without a match of a regex, not empty", "#ex'‹;›'", "ab",
                      "a;b"),
            Construct("#substrs'…'", "any substring of a text", "#substrs'‹abc›'", "bc", "ac"),
            Construct("except!(…)", "a text, not empty, in which this one does not occur",
                      "except!(‹'a'›)", "xyz", "xaz"),
        ),
        "Combination": (
            Construct("… 'b'", "one after the other; a comma between them is allowed", "‹'a'› 'b'",
                      "ab", "a"),
            Construct("… | 'b'", "one or the other", "‹'a'› | 'b'", "b", "ab"),
            Construct("(…)", "a group", "(‹'a' | 'b'›)", "bc", "b", "start ::= ‸ 'c';"),
        ),
        "Repetition": (
            Construct("…?", "once or not at all", "‹'a'›?", "", "aa"),
            Construct("[…]", "once or not at all, as in EBNF", "[‹'a'›]", "a", "aa"),
            Construct("…*", "any number of times, or not at all", "‹'a'›*", "aaa", "b"),
            Construct("{…}", "any number of times, or not at all, as in EBNF", "{‹'a'›}", "aa",
                      "b"),
            Construct("…+", "once or more", "‹'a'›+", "aa", ""),
        ),
    },
)  # fmt: skip

_GBNF = Card(
    "root ::= ‸",
    {
        "Rules": (
            Construct("name ::= …", "a rule; every text begins with the rule root",
                      '\nname ::= ‹"a"›', "a", "b", "root ::= name‸"),
            Construct("# …", "a comment, up to the end of the line", "\n# ‹note›", "a", "b",
                      'root ::= "a"‸'),
        ),
        "Texts": (
            Construct('"…"', "this text", '"‹abc›"', "abc", "ab"),
            Construct(r'"\n"', r"a line feed; \t, \\ and \" are escapes too", r'"\n"', "\n", "n"),
            Construct("[…]", "one of these characters; a-z is a range", "[‹a-z›]", "k", "K"),
            Construct("[^…]", "any character but these", "[^‹0-9›]", "x", "7"),
            Construct(".", "any character", ".", "x", "xy"),
            Construct('Regex("…")', "a regex, as in xgrammar", 'Regex("‹[0-9]+›")', "42", "x"),
            Construct('Substring("…")', "texts that follow one another in its list, or none",
                      'Substring("‹one ›", "two ", "three")', "two three", "one three"),
        ),
        "Combination": (
            Construct('… "b"', "one after the other", '‹"a"› "b"', "ab", "a"),
            Construct('… | "b"', "one or the other", '‹"a"› | "b"', "b", "ab"),
            Construct("(…)", "a group", '(‹"a" | "b"›)', "bc", "b", 'root ::= ‸ "c"'),
        ),
        "Repetition": (
            Construct("…?", "once or not at all", '‹"a"›?', "", "aa"),
            Construct("…*", "any number of times, or not at all", '‹"a"›*', "aaa", "b"),
            Construct("…+", "once or more", '‹"a"›+', "aa", ""),
            Construct("…{2,4}", "2 to 4 times; {2} is twice, {2,} twice or more", '‹"a"›{2,4}',
                      "aaa", "a"),
        ),
    },
)  # fmt: skip

_ABNF = Card(
    "start = ‸",
    {
        "Rules": (
            Construct("name = …", "a rule; texts begin with the first one; names ignore case",
                      '\nname = ‹"a"›', "a", "b", "start = Name‸"),
            Construct("name =/ …", "more alternatives of a rule", '\nstart =/ ‹"b"›', "b", "c",
                      'start = "a"‸'),
            Construct("; …", "a comment, up to the end of the line", "\n; ‹note›", "a", "b",
                      'start = "a"‸'),
        ),
        "Texts": (
            Construct('"…"', "this text, in upper or lower case", '"‹abc›"', "aBc", "ab"),
            Construct('%s"…"', "exactly this text", '%s"‹abc›"', "abc", "Abc"),
            Construct("%x41-5A", "a character in a range of code points; %d and %b are other bases",
                      "%x‹41-5A›", "K", "k"),
            Construct("%x0D.0A", "these characters, one after the other", "%x‹0D.0A›", "\r\n",
                      "\n"),
            Construct("DIGIT", "a core rule: ALPHA, DIGIT, HEXDIG, SP, CRLF and others", "‹DIGIT›",
                      "7", "x"),
        ),
        "Combination": (
            Construct('… "b"', "one after the other", '‹"a"› "b"', "ab", "a"),
            Construct('… / "b"', "one or the other", '‹"a"› / "b"', "b", "ab"),
            Construct("(…)", "a group", '(‹"a" / "b"›)', "bc", "b", 'start = ‸ "c"'),
            Construct("[…]", "once or not at all", '[‹"a"›]', "", "aa"),
        ),
        "Repetition": (
            Construct("*…", "any number of times, or not at all", '*‹"a"›', "aaa", "b"),
            Construct("1*…", "once or more", '1*‹"a"›', "aa", ""),
            Construct("2*4…", "2 to 4 times", '2*4‹"a"›', "aaa", "a"),
            Construct("3…", "3 times", '3‹"a"›', "aaa", "aa"),
        ),
    },
)  # fmt: skip

_ISO = "start = ‸;"
_EBNF = Card(
    "start ::= ‸",
    {
        "W3C: rules": (
            Construct("name ::= …", "a rule; every text begins with the first one",
                      "\nname ::= ‹'a'›", "a", "b", "start ::= name‸"),
            Construct("/* … */", "a comment", "/* ‹note› */", "a", "b", "start ::= 'a' ‸"),
        ),
        "W3C: texts": (
            Construct("'…'", "this text, in single or double quotes, without escapes", "'‹abc›'",
                      "abc", "ab"),
            Construct("#xA", "a character by its number", "#x‹A›", "\n", "A"),
            Construct("[…]", "one of these characters; a-z is a range", "[‹a-z›]", "k", "K"),
            Construct("[^…]", "any character but these", "[^‹0-9›]", "x", "7"),
        ),
        "W3C: combination": (
            Construct("… 'b'", "one after the other", "‹'a'› 'b'", "ab", "a"),
            Construct("… | 'b'", "one or the other", "‹'a'› | 'b'", "b", "ab"),
            Construct("(…)?", "once or not at all; * is any number of times, + once or more",
                      "(‹'a'›)?", "", "aa"),
            Construct("… - 'b'", "the texts of one side that are not of the other",
                      "‹[a-z]› - 'b'", "c", "b"),
        ),
        "ISO 14977": (
            Construct("name = … ;", "a rule, with its end", "\nname = ‹'a'›;", "a", "b",
                      "start = name;‸"),
            Construct("… , 'b'", "one after the other", "‹'a'›, 'b'", "ab", "a", _ISO),
            Construct("[ … ]", "once or not at all", "[‹'a'›]", "", "aa", _ISO),
            Construct("{…}", "any number of times; {…}- is once or more", "{‹'a'›}", "aaa", "b",
                      _ISO),
            Construct("3 * …", "3 times", "3 * ‹'a'›", "aaa", "aa", _ISO),
        ),
    },
)  # fmt: skip

_ANTLR = Card(
    "start : ‸ ;",
    {
        "Rules": (
            Construct("name : … ;", "a rule of the parser; texts begin with the first one",
                      "\nname : ‹'a'› ;", "a", "b", "start : name ;‸"),
            Construct("NAME : … ;", "a rule of the lexer: a token", "\nNAME : ‹[a-z]+› ;", "ab",
                      "1", "start : NAME ;‸"),
            Construct("fragment …", "a part of tokens, and no token", "\nfragment PART : ‹'a'› ;",
                      "aa", "b", "start : NAME ;\nNAME : PART+ ;‸"),
            Construct("-> skip", "a token that may be between all others",
                      "\nWS : ‹[ \\t]›+ -> skip ;", "a  b", "a_b", "start : 'a' 'b' ;‸"),
            Construct("// …", "a comment, up to the end of the line", "\n// ‹note›", "a", "b",
                      "start : 'a' ;‸"),
        ),
        "Texts": (
            Construct("'…'", "this text", "'‹abc›'", "abc", "ab"),
            Construct(r"'\n'", r"a line feed; \t, \\, \' and \u00e9 are escapes too", r"'\n'", "\n",
                      "n"),
            Construct("[…]", "one of these characters, in a rule of the lexer", "[‹a-z›]", "k", "K",
                      "start : A ; A : ‸ ;"),
            Construct("~[…]", "any character but these, in a rule of the lexer", "~[‹0-9›]", "x",
                      "7", "start : A ; A : ‸ ;"),
            Construct(".*? '…'", "any text up to the first of these, in a rule of the lexer",
                      ".*? '‹;›'", "ab;", "a;b;", "start : A ; A : ‸ ;"),
        ),
        "Combination": (
            Construct("… 'b'", "one after the other", "‹'a'› 'b'", "ab", "a"),
            Construct("… | 'b'", "one or the other", "‹'a'› | 'b'", "b", "ab"),
            Construct("(…)", "a group", "(‹'a' | 'b'›)", "bc", "b", "start : ‸ 'c' ;"),
        ),
        "Repetition": (
            Construct("…?", "once or not at all", "‹'a'›?", "", "aa"),
            Construct("…*", "any number of times, or not at all", "‹'a'›*", "aaa", "b"),
            Construct("…+", "once or more", "‹'a'›+", "aa", ""),
        ),
    },
)  # fmt: skip

_LARK = Card(
    "start: ‸",
    {
        "Rules": (
            Construct("name: …", "a rule; every text begins with the rule start",
                      '\nname: ‹"a"›', "a", "b", "start: name‸"),
            Construct("NAME: …", "a terminal: upper case, and without rules in it",
                      "\nNAME: ‹/[a-z]+/›", "ab", "1", "start: NAME‸"),
            Construct("%import", "a terminal that Lark defines", "\n%import common.‹INT›", "42",
                      "x", "start: INT‸"),
            Construct("%ignore", "a text that may stand between terminals", '\n%ignore ‹" "›',
                      "a b", "axb", 'start: "a" "b"‸'),
            Construct("// …", "a comment, up to the end of the line", "\n// ‹note›", "a", "b",
                      'start: "a"‸'),
        ),
        "Texts": (
            Construct('"…"', r"this text; \n is a line feed", '"‹abc›"', "abc", "ab"),
            Construct('"…"i', "this text in upper case or lower case", '"‹abc›"i', "aBc", "ab"),
            Construct("/…/", "a regex", "/‹[0-9]+›/", "42", "x"),
            Construct('"a".."z"', "a character of a range", '"‹a›".."z"', "k", "K"),
            Construct("%json {…}", "an instance of a JSON Schema", '%json {‹"type": "integer"›}',
                      "42", "x"),
        ),
        "Combination": (
            Construct('… "b"', "one after the other", '‹"a"› "b"', "ab", "a"),
            Construct('… | "b"', "one or the other", '‹"a"› | "b"', "b", "ab"),
            Construct("(…)", "a group", '(‹"a" | "b"›)', "bc", "b", 'start: ‸ "c"'),
        ),
        "Repetition": (
            Construct("[…]", "once or not at all", '[‹"a"›]', "", "aa"),
            Construct("…?", "once or not at all", '‹"a"›?', "a", "aa"),
            Construct("…*", "any number of times, or not at all", '‹"a"›*', "aaa", "b"),
            Construct("…+", "once or more", '‹"a"›+', "aa", ""),
            Construct("…~2..4", "2 to 4 times; ~2 is twice", '‹"a"›~2..4', "aaa", "a"),
        ),
    },
)  # fmt: skip

_JSON_SCHEMA = Card(
    "{‸}",
    {
        "Any value": (
            Construct('"type"', "string, number, integer, boolean, array, object or null; or a"
                      " list of these", '"type": "‹string›"', '"a"', "1"),
            Construct('"enum"', "one of these values", '"enum": [‹"yes", "no"›]', '"no"', '"x"'),
            Construct('"const"', "this value", '"const": ‹"yes"›', '"yes"', '"no"'),
            Construct('"anyOf"', "at least one of these schemas holds",
                      '"anyOf": [‹{"type": "integer"}, {"type": "null"}›]', "null", '"a"'),
            Construct('"$ref"', "the schema of this name in $defs", '"$ref": "#/$defs/‹name›"', "1",
                      '"a"', '{‸, "$defs": {"name": {"type": "integer"}}}'),
            Construct('"$defs"', "named schemas for $ref",
                      '"$defs": {"‹name›": {"type": "integer"}}', "1", '"a"',
                      '{"$ref": "#/$defs/name", ‸}'),
        ),
        "Strings": (
            Construct('"maxLength"', "at most this number of characters; minLength: at least",
                      '"maxLength": ‹20›', '"a"', '"aaaaaaaaaaaaaaaaaaaaa"',
                      '{"type": "string", ‸}'),
            Construct('"pattern"', "a regex matches somewhere; with ^ and $ it matches the whole",
                      '"pattern": "‹^[a-z]+$›"', '"ab"', '"A"', '{"type": "string", ‸}'),
            Construct('"format"', "a date, time, date-time, email, uuid, uri, ipv4 and others",
                      '"format": "‹date›"', '"2024-02-29"', '"2023-02-29"',
                      '{"type": "string", ‸}'),
        ),
        "Numbers": (
            Construct('"minimum"', "this number or more; exclusiveMinimum: more than it",
                      '"minimum": ‹0›', "0", "-1", '{"type": "integer", ‸}'),
            Construct('"maximum"', "this number or less; exclusiveMaximum: less than it",
                      '"maximum": ‹99›', "99", "100", '{"type": "integer", ‸}'),
            Construct('"multipleOf"', "a multiple of this number", '"multipleOf": ‹5›', "15", "16",
                      '{"type": "integer", ‸}'),
        ),
        "Arrays": (
            Construct('"items"', "the schema of every item", '"items": ‹{"type": "integer"}›',
                      "[1, 2]", '["a"]', '{"type": "array", ‸}'),
            Construct('"maxItems"', "at most this number of items; minItems: at least",
                      '"maxItems": ‹2›', "[1, 2]", "[1, 2, 3]", '{"type": "array", ‸}'),
        ),
        "Objects": (
            Construct('"properties"', "the schemas of members by name",
                      '"properties": {‹"age": {"type": "integer"}›}', '{"age": 1}', '{"age": "a"}',
                      '{"type": "object", ‸}'),
            Construct('"required"', "the members that must be there", '"required": ["‹age›"]',
                      '{"age": 1}', "{}", '{"type": "object", "properties": {"age": {}}, ‸}'),
            Construct('"additionalProperties"', "other members: false for none, or their schema",
                      '"additionalProperties": ‹false›', '{"age": 1}', '{"age": 1, "b": 2}',
                      '{"type": "object", "properties": {"age": {}}, ‸}'),
        ),
    },
)  # fmt: skip

_WITH_COLOUR = "@dataclass\nclass A:\n    colour: Colour"
_DATACLASS = Card(
    "@dataclass\nclass A:‸",
    {
        "Fields": (
            Construct("str", "a field with a text; int, float and bool are types too",
                      "\n    name: ‹str›", "A(name='x')", "A(name=1)"),
            Construct("int", "a whole number", "\n    count: ‹int›", "A(count=-2)",
                      "A(count=0.5)"),
            Construct("list[…]", "a list of any length", "\n    tags: list[‹str›]",
                      "A(tags=['x', 'y'])", "A(tags=[1])"),
            Construct("tuple[…]", "one value for each type", "\n    pair: tuple[‹int, int›]",
                      "A(pair=(1, 2))", "A(pair=(1, 2, 3))"),
            Construct("dict[…]", "keys and their values", "\n    counts: dict[‹str, int›]",
                      "A(counts={'x': 1})", "A(counts={1: 1})"),
            Construct("set[…]", "values without an order", "\n    codes: set[‹int›]",
                      "A(codes={1})", "A(codes=[1])"),
            Construct("Literal[…]", "one of these values", '\n    unit: Literal[‹"cm", "m"›]',
                      "A(unit='m')", "A(unit='x')"),
            Construct("… | None", "a value or None", "\n    note: ‹str› | None", "A(note=None)",
                      "A(note=1)"),
            Construct("= …", "a default: the field may be left out; those after it need one too",
                      "\n    size: int = ‹1›", "A()", "A(size='x')"),
        ),
        "Classes": (
            Construct("@dataclass", "a class with fields; texts are instances of the last class",
                      "\n@dataclass\nclass ‹Point›:\n    x: int", "Point(x=1)", "A()",
                      "@dataclass\nclass A:\n    x: int‸"),
            Construct("Enum", "a class with named values",
                      "\nclass ‹Colour›(Enum):\n    RED = 1\n    BLUE = 2\n",
                      "A(colour=Colour.RED)", "A(colour=Colour.PINK)", "‸" + _WITH_COLOUR),
            Construct("# …", "a comment, up to the end of the line", "\n    # ‹note›", "A(x=1)",
                      "A()", "@dataclass\nclass A:\n    x: int‸"),
        ),
    },
)  # fmt: skip

_MACHINE = Card(
    "initial p\nfinal q‸",
    {
        "States": (
            Construct("initial p", "texts begin in this state; there may be several",
                      "\ninitial ‹p›", "a", "b", "final p\np -> p : a‸"),
            Construct("final p", "texts may end in this state", "\nfinal ‹p›", "a", "b",
                      "initial p\np -> p : a‸"),
            Construct("place p 100 50", "the position of the state in the drawing",
                      "\nplace p ‹100 50›", "a", "b", "initial p\nfinal p\np -> p : a‸"),
            Construct("# …", "a comment, up to the end of the line", "\n# ‹note›", "a", "b",
                      "initial p\nfinal q\np -> q : a‸"),
        ),
        "Edges": (
            Construct("p -> q : a", "an edge that reads a text", "\np -> q : ‹a›", "a", "b"),
            Construct("p -> q : a, b", "an edge that reads one of several", "\np -> q : ‹a, b›",
                      "b", "c"),
            Construct("p -> q : [0-9]+", "an edge that reads a match of a regex",
                      "\np -> q : ‹[0-9]+›", "42", "x"),
            Construct("p -> q : ε", "an edge that reads nothing; also written eps",
                      "\np -> q : ‹ε›", "", "a"),
            Construct(r"p -> q : \,", r"a comma; \# is a number sign", "\np -> q : ‹\\,›",
                      ",", "a"),
            Construct("p -> p : a", "a loop: the state stays the same", "\np -> p : ‹a›", "aa",
                      "b", "initial p\nfinal p‸"),
        ),
    },
)  # fmt: skip

_YES = '{"type": "const_string", "value": "yes"}'
_NO = '{"type": "const_string", "value": "no"}'
_TAG = f'{{"type": "tag", "begin": "<a>", "content": {_YES}, "end": "</a>"}}'
_STRUCTURAL_TAG = Card(
    '{"type": "structural_tag", "format": ‸}',
    {
        "Texts": (
            Construct("const_string", "this text", '{"type": "const_string", "value": "‹yes›"}',
                      "yes", "no"),
            Construct("any_text", "any text; max_chars and excludes limit it",
                      '{"type": "any_text", "max_chars": ‹60›}', "any", "a" * 61),
            Construct("regex", "a match of a regex", '{"type": "regex", "pattern": "‹[0-9]+›"}',
                      "42", "x"),
            Construct("grammar", "a text of a GBNF grammar",
                      r'{"type": "grammar", "grammar": "‹root ::= [0-9]›"}', "4", "x"),
            Construct("json_schema", "an instance of a JSON Schema",
                      '{"type": "json_schema", "json_schema": ‹{"type": "integer"}›}', "42", "x"),
        ),
        "Combination": (
            Construct("sequence", "one format after the other",
                      f'{{"type": "sequence", "elements": [‹{_YES}, {_NO}›]}}', "yesno", "yes"),
            Construct("or", "one of several formats",
                      f'{{"type": "or", "elements": [‹{_YES}, {_NO}›]}}', "no", "yesno"),
            Construct("optional", "a format, or nothing",
                      f'{{"type": "optional", "content": ‹{_YES}›}}', "", "no"),
            Construct("star", "a format any number of times, or not at all",
                      f'{{"type": "star", "content": ‹{_YES}›}}', "yesyes", "no"),
            Construct("plus", "a format once or more",
                      f'{{"type": "plus", "content": ‹{_YES}›}}', "yes", ""),
            Construct("repeat", "a format from min to max times; max −1 is without a limit",
                      f'{{"type": "repeat", "min": ‹2›, "max": 4, "content": {_YES}}}', "yesyes",
                      "yes"),
        ),
        "Tags": (
            Construct("tag", "a beginning, a content and an end",
                      f'{{"type": "tag", "begin": "‹<a>›", "content": {_YES}, "end": "</a>"}}',
                      "<a>yes</a>", "yes"),
            Construct("triggered_tags", "free text, in which a trigger begins a tag",
                      f'{{"type": "triggered_tags", "triggers": ["‹<a›"], "tags": [{_TAG}]}}',
                      "so <a>yes</a>.", "<a>no</a>"),
            Construct("tags_with_separator", "tags with a text between them",
                      f'{{"type": "tags_with_separator", "separator": "‹, ›", "tags": [{_TAG}]}}',
                      "<a>yes</a>, <a>yes</a>", "<a>yes</a><a>yes</a>"),
            Construct("dispatch", "free text, in which a pattern is followed by a format",
                      f'{{"type": "dispatch", "rules": [["‹answer: ›", {_YES}]]}}',
                      "so answer: yes", "answer: no"),
        ),
    },
)  # fmt: skip

CARDS: Mapping[Notation, Card] = {
    Notation.REGEX: _REGEX,
    Notation.KBNF: _KBNF,
    Notation.JSON_SCHEMA: _JSON_SCHEMA,
    Notation.DATACLASS: _DATACLASS,
    Notation.GBNF: _GBNF,
    Notation.ABNF: _ABNF,
    Notation.EBNF: _EBNF,
    Notation.ANTLR: _ANTLR,
    Notation.LARK: _LARK,
    Notation.MACHINE: _MACHINE,
    Notation.STRUCTURAL_TAG: _STRUCTURAL_TAG,
}
_BY_NAME: Mapping[str, Card] = {str(notation): card for notation, card in CARDS.items()}


@question(LIGHT)
def syntax_card(_: Handlers, request: NotationRequest) -> wire_cards.SyntaxCard:
    """The card of a notation, asked once by each page; no groups for an unknown name."""
    card = _BY_NAME.get(request.notation)
    if card is None:
        return {"groups": []}
    return {
        "groups": [
            {
                "title": title,
                "rows": [
                    {
                        "text": row.text,
                        "about": row.about,
                        "insert": row.insert,
                        "example": card.example(row),
                    }
                    for row in rows
                ],
            }
            for title, rows in card.groups.items()
        ]
    }
