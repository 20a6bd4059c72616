"""Exported grammars, parsed again, define the same language."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from workbench.analysis.difference import equivalent
from workbench.analysis.random_texts import samples
from workbench.base.errors import BuildError, WorkbenchError
from workbench.base.limits import Limits
from workbench.grammar.export.registry import export
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

GALLERY = load_gallery()
NOTATIONS = (
    Notation.KBNF,
    Notation.GBNF,
    Notation.LARK,
    Notation.REGEX,
    Notation.MACHINE,
    Notation.STRUCTURAL_TAG,
)
#: Notations of languages that need no stack.
REGULAR = (Notation.REGEX, Notation.MACHINE)
CASES = Path(__file__).parent.parent / "data" / "grammar_cases.json.gz"
#: Generous limits for a shared machine: exports of whole schemas are slow.
PATIENT, QUICK = Limits(seconds=30.0), Limits(seconds=0.6)

#: Languages with byte strings that are not UTF-8, which only KBNF can express.
OF_BYTES = {"kbnf_paragraph", "kbnf_limit", "kbnf_end", "kbnf_note"}
#: Rejected: terminal labels, regexes that would be too long, machines that would be too large.
REFUSED = {
    *((one, "koo_bullets") for one in (Notation.GBNF, Notation.LARK, Notation.STRUCTURAL_TAG)),
    *(
        (Notation.REGEX, name)
        for name in ("settings", "crane", "think_then_json", "tool_call_harmony")
    ),
    (Notation.MACHINE, "koo_bullets"),
    *((Notation.MACHINE, name) for name in ("product", "settings", "weather", "tool_call_harmony")),
}


@cache
def example(name: str) -> Grammar:
    entry = GALLERY[name]
    return Grammar.from_text(entry.text, entry.notation, entry.start, limits=PATIENT)


def back(text: str, notation: Notation) -> Grammar:
    start = "root" if notation is Notation.GBNF else "start"
    return Grammar.from_text(text, notation, start, limits=PATIENT)


@pytest.mark.slow
@pytest.mark.parametrize("notation", NOTATIONS, ids=str)
@pytest.mark.parametrize("name", sorted(set(GALLERY) - OF_BYTES))
def test_examples_come_back(name: str, notation: Notation) -> None:
    grammar = example(name)
    if (notation, name) in REFUSED or (notation in REGULAR and not grammar.is_regular):
        with pytest.raises(BuildError):
            export(grammar, notation)
        return
    text = export(grammar, notation)
    decided = notation in REGULAR  # a regular language has one minimal machine
    found = equivalent(grammar, back(text, notation), limits=PATIENT if decided else QUICK)
    assert found.same is not False, found
    # the machine is the same but for names; where the rules were cut otherwise, to a bound
    assert found.same or found.bound
    assert found.same or not decided


@pytest.mark.parametrize("notation", NOTATIONS[1:], ids=str)
@pytest.mark.parametrize("name", sorted(OF_BYTES))
def test_of_byte_languages_the_texts_are_kept(name: str, notation: Notation) -> None:
    grammar = example(name)
    found = equivalent(grammar, back(export(grammar, notation), notation), limits=QUICK)
    assert found.gained is None
    assert found.lost is not None
    with pytest.raises(UnicodeDecodeError):
        found.lost.decode()
    again = back(export(grammar, notation), notation)
    for text in (*GALLERY[name].accepts, *samples(grammar, 20, seed=2)):
        assert again.accepts(text), text
    assert not any(map(again.accepts, GALLERY[name].rejects))


INTERCHANGE = CASES.with_name("interchange.jsonl.gz")


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(4))
def test_interchange_grammars_come_back(part: int) -> None:
    rows = [json.loads(row) for row in gzip.decompress(INTERCHANGE.read_bytes()).splitlines()]
    refused = 0
    for row in rows[part::16]:
        try:
            grammar = Grammar.from_text(
                row["grammar"], Notation(row["format"]), row["start"] or "start"
            )
        except WorkbenchError:
            continue  # the parsers have separate tests
        for notation in NOTATIONS:
            try:
                again = back(export(grammar, notation), notation)
            except BuildError:
                refused += 1
                continue
            found = equivalent(grammar, again, limits=QUICK)
            assert found.same is not False, f"{row['id']} as {notation}: {found}"
            assert all(map(again.accepts, filter(grammar.accepts, row["accepts"])))
    assert refused < 12  # regexes of what needs a stack, mostly


def cases() -> list[dict[str, Any]]:
    found = json.loads(gzip.decompress(CASES.read_bytes()))
    return list(found.values()) if isinstance(found, dict) else found


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_cases_keep_their_texts(case: dict[str, Any]) -> None:
    grammar = Grammar.from_kbnf(case["kbnf"])
    for notation in NOTATIONS[1:]:
        try:
            again = back(export(grammar, notation), notation)
        except BuildError:
            assert notation in REGULAR
            continue
        assert equivalent(grammar, again, limits=QUICK).same is not False
        assert all(map(again.accepts, case["accept"])), notation
        assert not any(again.accepts(one["text"]) for one in case["reject"]), notation


def test_error_for_an_unknown_notation() -> None:
    with pytest.raises(ValueError, match="there is no notation 'abnf' to write"):
        export(example("date"), "abnf")
