"""ABNF: what each construct means, errors, and the package ``abnf`` as oracle."""

from __future__ import annotations

import importlib
import random
import re
from itertools import product
from typing import Any

import pytest

import workbench as wb
from workbench import BuildError, Grammar, ParseError, problems
from workbench.base.errors import SourceError

CONSTRUCTS = [
    # grammar, accepted, rejected
    ('a = "Get"', ["get", "GET", "gEt"], ["ge", ""]),
    ('a = %i"Get"', ["get", "GET"], ["ge"]),
    ('a = %s"Get"', ["Get"], ["get", "GET"]),
    ('a = "K"', ["k", "K"], ["\u212a"]),  # the Kelvin sign is not in ASCII
    ('a = "%x41"', ["%x41", "%X41"], ["A"]),
    ("a = %x41", ["A"], ["a"]),
    ("a = %x41-43", ["A", "B", "C"], ["D", "a"]),
    ("a = %d65.66.67", ["ABC"], ["abc", "AB"]),
    ("a = %b1000001", ["A"], ["a"]),
    ("a = %xE9", ["é"], ["E9"]),
    ("a = %x80-10FFFF", ["é", "😀"], ["a"]),
    ("a = %xD000-E000", ["\ud000", "\ue000"], ["\uf000"]),  # surrogates are left out
    ("a = %x1F600.20", ["😀 "], ["😀"]),
    ('a = ""', [""], ["x"]),
    ('a = *"x"', ["", "xX"], ["y"]),
    ('a = 1*3"x"', ["x", "xxx"], ["", "xxxx"]),
    ('a = *2"x"', ["", "xx"], ["xxx"]),
    ('a = 2*"x"', ["xx", "xxx"], ["x"]),
    ('a = 2"x"', ["xx"], ["x", "xxx"]),
    ('a = 0"x"', [""], ["x"]),
    ('a = ["x"] "y"', ["y", "xy"], ["x"]),
    ('a = ("x" / "y") "z"', ["xz", "yz"], ["z"]),
    ('a = "x" "y" / "z"', ["xy", "z"], ["xz"]),
    ('a = "x"\na =/ "y"\nA =/ "z"', ["x", "y", "z"], ["w"]),
    ('a =/ "y"\na = "x"', ["x", "y"], ["z"]),
    ('a = Word\nWORD = "x"', ["x"], ["word"]),
    ("a = <b>\nb = DIGIT", ["7"], ["b"]),
    ("a = <DIGIT>", ["7"], ["x"]),
    ('a = "x" ; comment "y\n  "z" ; more\n\n ; end', ["xz"], ["x"]),
    ('  a = "x"\n  b = "y"', ["x"], ["y"]),
    ("a = HEXDIG hexdig", ["aF", "09"], ["g0"]),
    ('a = DIGIT\ndigit = "x"', ["x"], ["7"]),
    ('a = HEXDIG\nDIGIT = "-"', ["-", "a"], ["7"]),
    ('a = DIGIT\ndigit =/ "x"', ["x", "7"], ["y"]),
    ("a = CRLF / LWSP", ["\r\n", "", " \r\n\t"], ["\r", "\n"]),
    ("a = 2#4DIGIT\nOWS = *WSP", ["1,2", "1 , 2,3,4"], ["1", "1,2,3,4,5", "1,2,"]),
    ("a = #DIGIT\nOWS = *WSP", ["", "1", "1,2"], [","]),
    ("a = 0#0DIGIT\nOWS = *WSP", [""], ["1"]),
    ("a = 5000DIGIT", ["7" * 5000], ["7" * 4999, "7" * 5001]),
]


@pytest.mark.parametrize(("text", "accepted", "rejected"), CONSTRUCTS)
def test_constructs(text: str, accepted: list[str], rejected: list[str]) -> None:
    grammar = Grammar.from_abnf(text)
    assert [each for each in accepted if not grammar.accepts(each)] == []
    assert [each for each in rejected if grammar.accepts(each)] == []


def test_the_core_rules() -> None:
    """Every core rule as a set of characters (RFC 5234, appendix B.1)."""
    digits, letters = set("0123456789"), {chr(x) for x in [*range(65, 91), *range(97, 123)]}
    core = {
        "ALPHA": letters,
        "BIT": {"0", "1"},
        "CHAR": {chr(x) for x in range(1, 128)},
        "CR": {"\r"},
        "CTL": {chr(x) for x in [*range(32), 127]},
        "DIGIT": digits,
        "DQUOTE": {'"'},
        "HEXDIG": digits | set("abcdefABCDEF"),
        "HTAB": {"\t"},
        "LF": {"\n"},
        "OCTET": {chr(x) for x in range(256)},
        "SP": {" "},
        "VCHAR": {chr(x) for x in range(0x21, 0x7F)},
        "WSP": {" ", "\t"},
    }
    for name, characters in core.items():
        grammar = Grammar.from_abnf(f"a = {name.lower()}")
        assert {chr(x) for x in range(300) if grammar.accepts(chr(x))} == characters, name


def test_the_start_rule() -> None:
    text = 'First = "a"\nsecond = First "b"\nstart = "c"'
    assert Grammar.from_abnf(text).start == "start"
    assert Grammar.from_abnf(text, "SECOND").accepts("ab")
    first = Grammar.from_abnf('First = "a"\nsecond = first "b"')
    assert (first.start, first.options) == ("First", {})
    with pytest.raises(BuildError, match="the start symbol 'third' has no rule"):
        Grammar.from_abnf(text, "third")


ERRORS = [
    ('a = "x', "this string is never closed"),
    ("a = <x", "this prose value is never closed"),
    ("a = 'x'", "ABNF writes strings in double quotes"),
    ("a = b | c", "separated by '/'"),
    ('a ::= "x"', "expected '='"),
    ('a: "x"', "expected '='"),
    ('a = "x"+', "before its element"),
    ('a = "x"?', "in brackets"),
    ('a = {"x"}', "before its element"),
    ('a = "x", "y"', "without a sign"),
    ('a = "x" // note', "not a comment"),
    ("a = %", "expected a number or a string after '%'"),
    ("a = %xGG", "expected hexadecimal digits after '%x'"),
    ("a = %d1F", "expected decimal digits after '%d'"),
    ("a = %b12", "expected digits 0 and 1 after '%b'"),
    ("a = %x41-", "expected hexadecimal digits after '%x'"),
    ("a = %x5A-41", "from a lower to a higher"),
    ("a = %x110000", "not U+110000"),
    ("a = %xD800", "not U+D800"),
    ("a = %x" + "9" * 99, "not this number"),
    ('a = 1* "x"', "directly after it"),
    ('a = 3*1"x"', "no larger than the upper one"),
    ('a = "é"', "printable ASCII"),
    ("a =", "expected something"),
    ("a = ()", "expected something before ')'"),
    ("a = (DIGIT", "never closed"),
    ("a = DIGIT)", "closes nothing"),
    ("a = DIGIT / ", "expected a string, a number"),
    ("a = DIGIT b = DIGIT", "on a new line"),
    ("a = DIGIT\nA = ALPHA", "already written in line 1"),
    ("a = b", "the rule 'b' is not written"),
    ("a = DIGIT\nb =/ ALPHA", "extends the rule 'b'"),
    ("a = DIGT", "the rule 'DIGT' is not written"),
    ("a = <a line of text>", "a description that cannot be read"),
    ("", "at least one rule"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_error_of_a_text(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_abnf(text)
    assert message in caught.value.message
    assert caught.value.hint


FIXES = [
    ("a = 'x'", 'a = "x"'),
    ("a = DIGIT | ALPHA", "a = DIGIT / ALPHA"),
    ("a ::= DIGIT", "a = DIGIT"),
    ("a = DIGT", "a = DIGIT"),
    ("a = %x5A-41", "a = %x41-5A"),
    ("a = DIGIT\na = ALPHA", "a = DIGIT\na =/ ALPHA"),
]


@pytest.mark.parametrize(("text", "fixed"), FIXES)
def test_error_fixes(text: str, fixed: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_abnf(text)
    error = caught.value
    assert error.fix is not None
    assert text[: error.fix_span.start] + error.fix + text[error.fix_span.end :] == fixed
    Grammar.from_abnf(fixed)


def test_prose_that_the_start_rule_does_not_use_is_a_note() -> None:
    text = "a = DIGIT\nb = <any mail address> / ALPHA"
    grammar = Grammar.from_abnf(text)
    (note,) = grammar.notes
    assert (note.kind, text[note.span.start : note.span.end]) == (
        "description",
        "<any mail address>",
    )
    with pytest.raises(ParseError, match="any mail address"):
        Grammar.from_abnf(text, "b")


def test_a_note_on_numbers_that_may_be_bytes() -> None:
    """``obs-text`` of HTTP is bytes; here it is characters, and a note says so."""
    grammar = Grammar.from_abnf("a = %x21-7E / obs-text\nobs-text = %x80-FF\nb = %xA0-D7FF")
    assert [note.kind for note in grammar.notes] == ["code_points"]
    assert grammar.accepts("ÿ")
    assert not grammar.accepts(b"\xff")


#: RFC 8259, with its comments.
JSON = r"""
JSON-text = ws value ws
begin-array     = ws %x5B ws  ; [ left square bracket
begin-object    = ws %x7B ws  ; { left curly bracket
end-array       = ws %x5D ws  ; ] right square bracket
end-object      = ws %x7D ws  ; } right curly bracket
name-separator  = ws %x3A ws  ; : colon
value-separator = ws %x2C ws  ; , comma
ws = *(
        %x20 /              ; Space
        %x09 /              ; Horizontal tab
        %x0A /              ; Line feed or New line
        %x0D )              ; Carriage return
value = false / null / true / object / array / number / string
false = %x66.61.6c.73.65   ; false
null  = %x6e.75.6c.6c      ; null
true  = %x74.72.75.65      ; true
object = begin-object [ member *( value-separator member ) ] end-object
member = string name-separator value
array = begin-array [ value *( value-separator value ) ] end-array
number = [ minus ] int [ frac ] [ exp ]
decimal-point = %x2E       ; .
digit1-9 = %x31-39         ; 1-9
e = %x65 / %x45            ; e E
exp = e [ minus / plus ] 1*DIGIT
frac = decimal-point 1*DIGIT
int = zero / ( digit1-9 *DIGIT )
minus = %x2D               ; -
plus = %x2B                ; +
zero = %x30                ; 0
string = quotation-mark *char quotation-mark
char = unescaped /
    escape (
        %x22 /          ; "    quotation mark  U+0022
        %x5C /          ; \    reverse solidus U+005C
        %x2F /          ; /    solidus         U+002F
        %x62 /          ; b    backspace       U+0008
        %x66 /          ; f    form feed       U+000C
        %x6E /          ; n    line feed       U+000A
        %x72 /          ; r    carriage return U+000D
        %x74 /          ; t    tab             U+0009
        %x75 4HEXDIG )  ; uXXXX                U+XXXX
escape = %x5C              ; \
quotation-mark = %x22      ; "
unescaped = %x20-21 / %x23-5B / %x5D-10FFFF
"""


def test_the_grammar_of_rfc_8259_is_json() -> None:
    """Equal to the grammar of all JSON texts, up to the white space that the schema's has."""
    grammar = Grammar.from_abnf(JSON)
    for text in ("[]", '{"a": [1, -2.5e+7, true, null, "\\u00e9é"]}', ' "x" ', "0"):
        assert grammar.accepts(text), text
    for text in ("", "[1,]", "01", "+1", "TRUE", '"\t"', "{a: 1}", "'x'", "NaN"):
        assert not grammar.accepts(text), text


#: The addr-spec of RFC 5322 without obsolete forms.
ADDRESS = """
addr-spec       =   local-part "@" domain
local-part      =   dot-atom / quoted-string
domain          =   dot-atom / domain-literal
domain-literal  =   [CFWS] "[" *([FWS] dtext) [FWS] "]" [CFWS]
dtext           =   %d33-90 /          ; Printable US-ASCII
                    %d94-126           ;  characters not including "[", "]", or "\\"
dot-atom        =   [CFWS] dot-atom-text [CFWS]
dot-atom-text   =   1*atext *("." 1*atext)
atext           =   ALPHA / DIGIT /    ; Printable US-ASCII
                    "!" / "#" /        ;  characters not including
                    "$" / "%" /        ;  specials.  Used for atoms.
                    "&" / "'" /
                    "*" / "+" /
                    "-" / "/" /
                    "=" / "?" /
                    "^" / "_" /
                    "`" / "{" /
                    "|" / "}" /
                    "~"
quoted-string   =   [CFWS] DQUOTE *([FWS] qcontent) [FWS] DQUOTE [CFWS]
qcontent        =   qtext / quoted-pair
qtext           =   %d33 / %d35-91 / %d93-126
quoted-pair     =   ("\\" (VCHAR / WSP))
FWS             =   ([*WSP CRLF] 1*WSP)
ctext           =   %d33-39 / %d42-91 / %d93-126
ccontent        =   ctext / quoted-pair / comment
comment         =   "(" *([FWS] ccontent) [FWS] ")"
CFWS            =   (1*([FWS] comment) [FWS]) / FWS
"""


def test_the_addresses_of_rfc_5322() -> None:
    grammar = Grammar.from_abnf(ADDRESS)
    for text in ("ada@example.org", '"a b"@c', "a.b+c@[1.2.3.4]", "(x (y)) a (z)@ b", "a@b\r\n "):
        assert grammar.accepts(text), text
    for text in ("ada", "a..b@c", "a b@c", ".a@b", "a@b@c", "(a@b", '"a@b'):
        assert not grammar.accepts(text), text


CONVERTED = [('a = "Get" 1*2DIGIT [ %xE9 ] / *( "(" a ")" )\n; note'), JSON, ADDRESS]


@pytest.mark.parametrize("text", CONVERTED)
@pytest.mark.parametrize("notation", ["kbnf", "gbnf", "lark"])
def test_conversion(text: str, notation: str) -> None:
    grammar = Grammar.from_abnf(text)
    again = Grammar.from_text(wb.export(grammar, notation), notation)
    for sample in wb.samples(grammar, 30, seed=1):
        assert again.accepts(sample)
    for sample in wb.samples(again, 30, seed=2):
        assert grammar.accepts(sample)


def test_all_problems_of_a_text() -> None:
    text = 'a = b "x\nc = 1* d\nd = %xZZ\ne = f | "g"\nh =/ q'
    assert [(one.position, one.kind) for one in problems(text, "abnf")] == [
        ((1, 5), "undefined_nonterminal"),
        ((1, 7), "syntax"),
        ((2, 5), "syntax"),
        ((3, 5), "syntax"),
        ((4, 5), "undefined_nonterminal"),
        ((4, 7), "syntax"),
        ((5, 1), "undefined_nonterminal"),
        ((5, 6), "undefined_nonterminal"),
    ]


# -- the package abnf ------------------------------------------------------------------------------

ALPHABET = "aAbB"


def _element(choose: random.Random, depth: int) -> str:
    kinds = ["name", "string", "exact", "number", "range"]
    kind = choose.choice(kinds + ["group", "option", "repeat"] * (depth > 0))
    match kind:
        case "name":
            return choose.choice(["r1", "R2", "r3"])
        case "string":
            return f'"{"".join(choose.choices(ALPHABET, k=choose.randrange(3)))}"'
        case "exact":
            return f'%s"{"".join(choose.choices(ALPHABET, k=choose.randrange(1, 3)))}"'
        case "number":
            return "%x" + ".".join(f"{ord(choose.choice(ALPHABET)):X}" for _ in range(2))
        case "range":
            return choose.choice(["%x41-42", "%d97-98", "%x41-62"])
        case "group":
            return f"({_alternation(choose, depth - 1)})"
        case "option":
            return f"[{_alternation(choose, depth - 1)}]"
    count = choose.choice(["*", "1*", "*2", "2", "1*2", "0*1"])
    element = _element(choose, 0)
    return count + element


def _alternation(choose: random.Random, depth: int) -> str:
    return " / ".join(
        " ".join(_element(choose, depth) for _ in range(choose.randrange(1, 3)))
        for _ in range(choose.randrange(1, 3))
    )


def _random_grammar(seed: int) -> str:
    """Three rules; none calls itself or an earlier one, since the package recurses on those."""
    choose = random.Random(seed)
    rules = [f"r{n} = {_alternation(choose, 2)}" for n in range(3)]
    rules = [
        # names of earlier rules become later ones, or a string
        "".join(
            word if word[:1] not in "rR" or int(word[1]) > n else ('"b"' if n >= 2 else f"r{n + 1}")
            for word in _words(rule.partition(" = ")[2])
        )
        for n, rule in enumerate(rules)
    ]
    return "".join(f"r{n} = {body}\r\n" for n, body in enumerate([*rules, '"a" / "BA"']))


def _words(body: str) -> list[str]:
    return re.findall(r'[rR]\d|"[^"]*"|.', body)


@pytest.mark.parametrize("seed", range(60))
def test_random_grammars_against_the_package_abnf(seed: int) -> None:
    abnf = pytest.importorskip("abnf", reason="the package abnf is the oracle")
    text = _random_grammar(seed)
    rules: Any = type(f"Rules{seed}", (abnf.Rule,), {})
    rules.load_grammar(text)

    def matches(word: str) -> bool:
        try:
            rules("r0").parse_all(word)
        except abnf.ParseError:
            return False
        return True

    grammar = Grammar.from_abnf(text)
    words = ("".join(letters) for size in range(5) for letters in product(ALPHABET, repeat=size))
    different = [word for word in words if grammar.accepts(word) != matches(word)]
    assert different == [], text


@pytest.mark.parametrize("name", ["rfc3339", "rfc3986", "rfc4647", "rfc5234", "rfc5646", "rfc9110"])
def test_grammars_of_rfcs_against_the_package_abnf(name: str) -> None:
    """Texts of each grammar, and the same with a character changed."""
    grammars = pytest.importorskip("abnf.grammars", reason="the package abnf is the oracle")
    abnf = importlib.import_module("abnf")
    rules: Any = importlib.import_module(f"{grammars.__name__}.{name}").Rule
    text = rules.grammar if isinstance(rules.grammar, str) else "\n".join(rules.grammar)
    grammar = Grammar.from_abnf(text)
    choose = random.Random(name)
    texts = [sample for sample in wb.samples(grammar, 20, seed=1) if len(sample) < 40]
    assert texts
    for sample in [*texts]:
        at = choose.randrange(len(sample) + 1)
        texts.append(sample[:at] + choose.choice('a0:/%"\r\n;= ') + sample[at + 1 :])
    for sample in texts:
        try:
            rules(grammar.start).parse_all(sample)
            is_accepted = True
        except abnf.ParseError:
            is_accepted = False
        assert grammar.accepts(sample) == is_accepted, sample
