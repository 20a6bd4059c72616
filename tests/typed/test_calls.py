"""Accepted calls, by type and by the fields of a dataclass."""

from __future__ import annotations

import pytest

from workbench.base.errors import BuildError
from workbench.grammar.grammar import Grammar

#: The type of ``x``, the text of its value, whether it is accepted, and the reason.
VALUES = [
    ("int", "0", True, "zero"),
    ("int", "-17", True, "a sign"),
    ("int", "+17", False, "no sign that repr would not write"),
    ("int", "007", False, "Python refuses leading zeros"),
    ("int", "1_000", False, "canonical numerals alone"),
    ("int", "0x1F", False, "canonical numerals alone"),
    ("int", "1.0", False, "a float"),
    ("int", "True", False, "a bool is written where bool is declared"),
    ("float", "1.5", True, "a point"),
    ("float", "-0.0", True, "minus zero"),
    ("float", "1e+16", True, "as repr writes large ones"),
    ("float", "1e-07", True, "as repr writes small ones"),
    ("float", "2", True, "a whole number is a float to who reads the annotation"),
    ("float", "-inf", True, "as repr writes it"),
    ("float", "nan", True, "as repr writes it"),
    ("float", "-nan", False, "repr writes nan alone"),
    ("float", ".5", False, "repr writes a digit first"),
    ("float", "5.", False, "repr writes a digit last"),
    ("bool", "True", True, "a word"),
    ("bool", "true", False, "JSON's word"),
    ("bool", "1", False, "no number"),
    ("str", "'a'", True, "single quotes"),
    ("str", '"a"', True, "double quotes"),
    ("str", "'it\\'s'", True, "the quote escaped"),
    ("str", '"it\'s"', True, "the other quote bare"),
    ("str", "'a\\n\\x00\\u00e9\\U0001F600'", True, "escapes of every length"),
    ("str", "'\\ud800'", True, "half of a pair, which a str may hold"),
    ("str", "'\\U00110000'", False, "beyond the last code point"),
    ("str", "'\\N{BULLET}'", False, "names are not read"),
    ("str", "'\\0'", False, "octal escapes are not read"),
    ("str", "'\\q'", False, "no escape of Python's"),
    ("str", "'a\nb'", False, "a line break ends a string"),
    ("str", "'é山😀'", True, "any unescaped character"),
    ("str", "'a' 'b'", False, "one string"),
    ("str", "'''a'''", False, "one pair of quotes"),
    ("str", "b'a'", False, "no bytes"),
    ("str", "f'{1}'", False, "nothing to be run"),
    ("None", "None", True, "the word"),
    ("Literal['a', 1, True, None]", "'a'", True, "a text"),
    ("Literal['a', 1, True, None]", '"a"', True, "either quote"),
    ("Literal['a', 1, True, None]", "1", True, "a number"),
    ("Literal['a', 1, True, None]", "True", True, "a word"),
    ("Literal['a', 1, True, None]", "2", False, "another number"),
    ("Literal['\\'\"']", "'\\'\"'", True, "both quotes inside, as repr writes it"),
    ("Literal[-3]", "-3", True, "a number below zero"),
    ("Literal[C.A, 'b']", "C.A", True, "a member"),
    ("Literal[C.A, 'b']", "C.B", False, "another member"),
    ("C", "C.B", True, "a member"),
    ("C", "C.Z", True, "an alias"),
    ("C", "B", False, "without its class"),
    ("C", "<C.A: 1>", False, "the repr of a member is no Python"),
    ("C", "1", False, "its value"),
    ("int | None", "None", True, "either"),
    ("Optional[int]", "3", True, "either"),
    ("Union[int, str]", "'3'", True, "either"),
    ("Union[int, str]", "None", False, "neither"),
    ("list[int]", "[]", True, "no item"),
    ("list[int]", "[1, 2]", True, "a space after the comma"),
    ("list[int]", "[1,2]", True, "no space"),
    ("list[int]", "[1,  2]", False, "two spaces"),
    ("list[int]", "[ 1]", False, "a space where repr writes none"),
    ("list[int]", "[1, ]", False, "a comma at the end"),
    ("list[int]", "(1, 2)", False, "a tuple"),
    ("tuple[int, str]", "(1, 'a')", True, "each of its type"),
    ("tuple[int, str]", "('a', 1)", False, "in their order"),
    ("tuple[int]", "(1,)", True, "the comma of one"),
    ("tuple[int]", "(1)", False, "brackets around a number are no tuple"),
    ("tuple[()]", "()", True, "no item"),
    ("tuple[int, ...]", "()", True, "no item"),
    ("tuple[int, ...]", "(1,)", True, "the comma of one"),
    ("tuple[int, ...]", "(1, 2, 3)", True, "several"),
    ("tuple[int, ...]", "(1, 2,)", False, "a comma after several"),
    ("dict[str, int]", "{}", True, "no pair"),
    ("dict[str, int]", "{'a': 1, \"b\":2}", True, "a space after the colon, or none"),
    ("dict[str, int]", "{1: 'a'}", False, "key and value changed places"),
    ("dict[int, list[int]]", "{1: [2]}", True, "any key repr writes"),
    ("set[int]", "{1, 2}", True, "items"),
    ("set[int]", "set()", True, "no item"),
    ("set[int]", "{}", False, "a dict"),
    ("frozenset[int]", "frozenset({1})", True, "as repr writes it"),
    ("frozenset[int]", "frozenset()", True, "no item"),
    ("frozenset[int]", "{1}", False, "a set"),
    ("P", "P(y=1)", True, "a call in a call"),
    ("'P'", "P(y=1)", True, "an annotation in quotes"),
    ("P", "P(1)", False, "without the keyword"),
    ("P", "{'y': 1}", False, "a dict"),
    ("Annotated[int, 'years']", "3", True, "what is annotated"),
    ("Final[int]", "3", True, "what is final"),
]

AROUND = """
class C(Enum):
    A = 1
    B = "b"
    Z = 1

@dataclass
class P:
    y: int

@dataclass
class T:
    x: {}
"""


@pytest.mark.parametrize(("type_", "value", "accepted", "why"), VALUES)
def test_values_of_a_type(type_: str, value: str, accepted: bool, why: str) -> None:
    grammar = Grammar.from_dataclass(AROUND.format(type_))
    assert grammar.accepts(f"T(x={value})") is accepted, why


#: Fields, a call, whether it is accepted, why.
FIELDS = [
    ("a: int\n b: int", "T(a=1, b=2)", True, "in declared order"),
    ("a: int\n b: int", "T(b=2, a=1)", False, "in no other"),
    ("a: int\n b: int", "T(a=1)", False, "all without a default"),
    ("a: int\n b: int", "T(a=1, a=1)", False, "each once"),
    ("a: int\n b: int", "T(1, 2)", False, "with their names"),
    ("a: int\n b: int", "T(a=1, b=2,)", False, "without a comma at the end"),
    ("a: int\n b: int", "T(a = 1, b=2)", False, "as repr writes them"),
    ("a: int\n b: int = 3", "T(a=1)", True, "a field with a default is optional"),
    ("a: int\n b: int = 3", "T(a=1, b=4)", True, "or given"),
    ("a: int\n b: int = 3\n c: int = 4", "T(a=1, c=4)", True, "any of the defaults"),
    ("a: int = 1\n b: int = 2\n c: int = 3", "T()", True, "all fields are optional"),
    ("a: int = 1\n b: int = 2\n c: int = 3", "T(b=1)", True, "the first given has no comma before"),
    ("a: int = 1\n b: int = 2\n c: int = 3", "T(a=1, c=1)", True, "the next has one"),
    ("a: int = 1\n b: int = 2\n c: int = 3", "T(a=1 c=1)", False, "and needs it"),
    ("a: int = 1\n b: int = 2\n c: int = 3", "T(, b=1)", False, "a comma stands between two"),
    ("a: int = 1\n b: int = 2\n c: int = 3", "T(c=1, b=1)", False, "in declared order"),
    ("_: KW_ONLY\n a: int = 1\n b: int", "T(b=1)", True, "one with a default may be first"),
    ("_: KW_ONLY\n a: int = 1\n b: int", "T(a=2, b=1)", True, "and be given"),
    ("_: KW_ONLY\n a: int = 1\n b: int", "T(a=2)", False, "without the other it may not"),
    ("pass", "T()", True, "no field at all"),
    ("a: ClassVar[int] = 1\n b: int", "T(b=1)", True, "a class variable is no field"),
    ("a: int = field(init=False)\n b: int", "T(b=1)", True, "what __init__ does not take"),
    ("a: int\n def area(self): return 1", "T(a=1)", True, "a method is no field"),
    ("é: int", "T(é=1)", True, "any identifier is a name"),
    ("__x: int", "T(_T__x=1)", True, "as Python mangles it"),
    ("a: list['T']", "T(a=[T(a=[]), T(a=[])])", True, "a class in itself"),
    ("a: list['T']", "T(a=[T(a=[])", False, "every bracket closes"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "text", "accepted", "why"), FIELDS)
def test_calls_of_a_class(fields: str, text: str, accepted: bool, why: str) -> None:
    grammar = Grammar.from_dataclass(f"@dataclass\nclass T:\n {fields}")
    assert grammar.accepts(text) is accepted, why


def test_size_is_linear_in_the_number_of_defaults() -> None:
    # with inlined tails the size would be quadratic
    few, many = (_rules(count) for count in (20, 40))
    assert many < 2.2 * few
    grammar = Grammar.from_dataclass(_defaults(40))
    assert grammar.accepts("T(a0=1, a7=2, a39=3)")
    assert not grammar.accepts("T(a7=2, a0=1)")


def _defaults(count: int) -> str:
    return "@dataclass\nclass T:\n" + "".join(f" a{i}: int = 0\n" for i in range(count))


def _rules(count: int) -> int:
    tree = Grammar.from_dataclass(_defaults(count)).tree
    assert tree is not None
    return sum(repr(rule.body).count("Literal(") for rule in tree.rules)


def test_size_is_linear_in_the_depth_of_lists() -> None:
    # an item occurs twice in its list: inlined, the size would double with every level
    depth = 60
    nested = "list[" * depth + "int | None" + "]" * depth
    for style, none in (("call", "None"), ("json", "null")):
        grammar = Grammar.from_dataclass(f"@dataclass\nclass T:\n  x: {nested}", style=style)
        items = "[" * depth + f"1, {none}" + "]" * depth
        text = f"T(x={items})" if style == "call" else f'{{"x": {items}}}'
        assert grammar.accepts(text)
        assert not grammar.accepts(text.replace("]", "", 1))


def test_names_of_rules_are_valid_in_every_notation() -> None:
    text = """
@dataclass
class string:
    x: str

@dataclass
class Événement:
    class start:
        pass
    @dataclass
    class Lieu:
        ou: "string"
    x: Lieu
"""
    grammar = Grammar.from_dataclass(text)
    assert grammar.tree is not None
    names = [rule.name for rule in grammar.tree.rules]
    # a class may have the name of a built-in rule; non-ASCII letters become underscores
    assert names == ["start", "_v_nement", "_v_nement_Lieu", "string_", "string"]
    assert grammar.accepts("Événement(x=Événement.Lieu(ou=string(x='')))")


def test_error_no_finite_instance() -> None:
    with pytest.raises(BuildError) as caught:
        Grammar.from_dataclass("@dataclass\nclass T:\n    x: 'T'")
    assert str(caught.value) == (
        "dataclass, line 2, column 7: 'start' never finishes: no text can be derived from it\n"
        "2 | class T:\n"
        "          ^\n"
        "hint: give a recursive rule an alternative that ends"
    )
