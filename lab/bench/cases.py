r"""The benchmark's constraints in every notation.

The regexes are those of Koo et al. 2024, appendix C.4, with ASCII digits and white space written
out, since engines differ about ``\d``; the grammars are the gallery's.

``REAL`` are grammars of programming languages and formats, written for this project in the style of
those in use: deep ladders of operators, left recursion, ignored white space and comments, names
that are also keywords. They are in the folder ``real``, with texts that they accept and refuse.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from workbench.base.resources import GRAMMARS
from workbench.engines.case import Case
from workbench.grammar.notations import Notation

_TEXTS = Path(__file__).parent / "texts"
_REAL = Path(__file__).parent / "real"


def _grammar(name: str, walk: str, kbnf: str) -> Case:
    """A case whose other notations are in files of its name."""
    return Case(
        name,
        walk,
        kbnf=(GRAMMARS / kbnf).read_text("utf-8"),
        lark=(_TEXTS / f"{name}.lark").read_text("utf-8"),
        ebnf=(_TEXTS / f"{name}.ebnf").read_text("utf-8"),
    )


_OCTET = "(25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
_PLAIN = r'[^ \t\n\r\x0b\x0c"\\]|\\["n\\]'
# a string as converters of JSON Schema write it: few escapes, in one class
_STRING = r'"([^"\\\x00-\x1f\x7f-\x9f]|\\["\\])*"'
_INTEGER = "-?(0|[1-9][0-9]*)"
_ITEM = (
    rf'\{{"name": {_STRING}, "durability": {_INTEGER}, "quality": ("Normal"|"Magic"|"Unique")\}}'
)
_CHARACTER = (
    rf'\{{"name": {_STRING}, "class": ("Warrior"|"Rogue"|"Sorceror"), "life": {_INTEGER}, '
    rf'"mana": {_INTEGER}, "equipment": \[({_ITEM}(, {_ITEM})*)?\]\}}'
)
_CHARACTER_WALK = (
    '{"name": "Morgan le Fay", "class": "Sorceror", "life": 90, "mana": 250, "equipment": ['
    '{"name": "the \\"quiet\\" knife", "durability": 12, "quality": "Unique"}, '
    '{"name": "cloak", "durability": -1, "quality": "Normal"}]}'
)
_JSON_WALK = (
    '{"orders": [{"id": 17, "for": "Zoë\\n", "paid": false, "sum": -2.5e+3},\n'
    '  {"id": 18, "lines": ["tea", "milk"], "note": null}], "more": {}}'
)

_ALL = (
    Case("choice", "Indigo", "Red|Orange|Yellow|Green|Blue|Indigo|Violet"),
    Case(
        "datetime",
        "2031-12-24T18:30:45+01:00",
        "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
        "([+-][0-2][0-9]:[0-5][0-9]|Z)",
    ),
    Case("ip", "172.16.254.101", rf"({_OCTET}\.){{3}}{_OCTET}"),
    Case(
        "quoted",
        '"Nobody said \\"stop\\", so the 12 musicians of the café played on until 東京 slept.\\n"',
        f'" *({_PLAIN})( |{_PLAIN})*"',
    ),
    Case(
        "json_schema",
        _CHARACTER_WALK,
        schema=(_TEXTS / "character.schema.json").read_text("utf-8"),
    ),
    Case(
        "json_schema_re",
        _CHARACTER_WALK,
        _CHARACTER,
    ),
    _grammar("json_cfg", _JSON_WALK, "json.kbnf"),
    Case("json_builtin", _JSON_WALK, schema="{}"),
    _grammar(
        "c_cfg",
        "int main() {int sum = 0;for(i = 0; i<10; i = i+1){sum = sum+f(i, 2)*3;}"
        'if(sum>=7){print("sum", sum);}// done\nreturn sum;}',
        "domino_c.kbnf",
    ),
    _grammar("anbn", "a" * 12 + "b" * 12, "anbn.kbnf"),
    Case("blowup", "abbabaabbbabababaaabbabab" + "a" + "babbaabbabab", "(a|b)*a(a|b){12}"),
    Case("counter", "sphinxofblackquartzjudgemyvow" * 5 + "x", "[a-z]{0,200}x"),
)

#: Every case by its name, in the order of the table.
CASES: dict[str, Case] = {case.name: case for case in _ALL}


@cache
def real_texts() -> Mapping[str, Mapping[str, list[str]]]:
    """For each real grammar the texts it has to accept, and those it has to refuse."""
    found: Mapping[str, Mapping[str, list[str]]] = tomllib.loads(
        (_REAL / "texts.toml").read_text("utf-8")
    )
    return found


def _real(name: str) -> Case:
    """A real grammar; masks are computed along its first accepted text."""
    file = next(path for path in _REAL.glob(f"{name}.*"))
    written = Notation(file.suffix[1:]), file.read_text("utf-8")
    return Case(name, real_texts()[name]["accepted"][0], written=written)


#: Every real grammar by its name.
REAL: dict[str, Case] = {name: _real(name) for name in real_texts()}


def case_named(name: str) -> Case:
    """A constraint or a real grammar by its name."""
    return CASES[name] if name in CASES else REAL[name]
