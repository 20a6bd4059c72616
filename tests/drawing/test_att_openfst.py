"""OpenFst reads our AT&T text, if pynini is installed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.automata.machines import dfa_of
from workbench.constraint.engine.compose import compose
from workbench.drawing.machine_files import Att, detokenizer_att, dfa_att, table, token_fsa_att
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import words_of
from workbench.vocabulary.vocabulary import Vocabulary

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def pynini() -> Any:
    return pytest.importorskip("pynini")


def compiled(pynini: Any, text: str, **tables: Any) -> Any:
    compiler = pytest.importorskip("pywrapfst").Compiler(**tables)
    compiler.write(text)
    return pynini.Fst.from_pywrapfst(compiler.compile())


def tables_of(machine: Att, folder: Any) -> dict[str, Any]:
    read = pytest.importorskip("pywrapfst").SymbolTable.read_text
    made = {}
    for name, names in (("isymbols", machine.inputs), ("osymbols", machine.outputs)):
        (folder / name).write_text(table(names), "ascii")
        made[name] = read(str(folder / name))
    return made


#   pattern                  texts tried
CASES = [
    ("(foo)+d",              ["food", "foofood", "foo", "d"]),
    ("[α-ω]+ \\\\|\"[^\"]*\"", ["λ \\", "αβγ \\", '"é\n"', '""', '"', "a"]),
    ("\\d{4}-\\d{2}",        ["2026-11", "2026-1", "20261-1"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "texts"), CASES)
def test_a_character_automaton_accepts_pyninis_own_strings(
    pynini: Any, pattern: str, texts: list[str]
) -> None:
    grammar = Grammar.from_regex(pattern)
    fst = compiled(pynini, dfa_att(dfa_of(pattern)).numbered())
    for text in texts:
        met = pynini.intersect(pynini.accep(pynini.escape(text)), fst)
        assert (met.num_states() > 0) == grammar.accepts(text), text


def test_named_text_compiles_with_its_tables_to_the_same_machine(
    pynini: Any, tmp_path: Any
) -> None:
    vocabulary = Vocabulary((b" ", b"<eps>", b"\\", b"\xc3", b"\xa9", b"a", b"a", None), end=7)
    machine = token_fsa_att(compose(dfa_of("[ \\\\éa]*|<eps>"), vocabulary))
    named = compiled(pynini, machine.named(), **tables_of(machine, tmp_path))
    numbered = compiled(pynini, machine.numbered())
    assert pynini.isomorphic(named, numbered)


def test_the_detokenizer_composed_with_the_characters_is_the_token_automaton(pynini: Any) -> None:
    """Koo et al. 2024, Algorithm 2, made by OpenFst of our two files."""
    vocabulary = words_of("food foo for the fox")
    dfa = dfa_of("(foo)+d|for( fox)?")
    detokenizer = compiled(pynini, detokenizer_att(vocabulary).numbered())
    characters = compiled(pynini, dfa_att(dfa).numbered())
    theirs = pynini.compose(detokenizer.arcsort("olabel"), characters.arcsort("ilabel"))
    theirs = pynini.determinize(theirs.project("input").rmepsilon())
    ours = pynini.determinize(
        compiled(pynini, token_fsa_att(compose(dfa, vocabulary)).numbered()).rmepsilon()
    )
    assert pynini.equivalent(ours, theirs)
