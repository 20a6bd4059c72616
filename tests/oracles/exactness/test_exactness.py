"""The exactness check: its recogniser against definitions, and that it finds wrong masks."""

from __future__ import annotations

import json
import re
from random import Random

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.oracles import brute_force
from tests.oracles.exactness import check
from tests.oracles.exactness import subjects as made_up
from tests.oracles.exactness.__main__ import app
from tests.oracles.exactness.check import Decider, Spellings, walked
from tests.oracles.exactness.recogniser import DEAD_COLUMN, Recogniser, characters_from
from tests.oracles.exactness.subjects import Subject, known_subjects
from tests.oracles.grammar_oracle import GrammarOracle
from workbench.base.source import Source
from workbench.constraint.engine.automaton import DfaConstraint
from workbench.constraint.masks import TokenMask
from workbench.grammar.notations import Notation
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.vocabulary.toy_vocabularies import all_bytes, toy
from workbench.vocabulary.vocabulary import Vocabulary


def recogniser(notation: str, text: str) -> Recogniser:
    return Subject("…", Notation(notation), text).recogniser()


#   pattern                     alphabet   reason
REGEXES = [
    ("a*b|b{2,3}",              "ab",      "counts, alternatives"),
    ("(a?){3}b?",               "ab",      "empty copies"),
    ("((a|b){0,2}a){0,2}",      "ab",      "counts in counts"),
    ("[^a]é|.\\w",              "aé東",    "characters of several bytes"),
    ("(a|)(b*)*",               "ab",      "loops over the empty text"),
    ("[a-é]+?東",               "aé東",    "ranges across lengths in UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "alphabet", "reason"), REGEXES, ids=[r[2] for r in REGEXES])
def test_recogniser_agrees_with_re(pattern: str, alphabet: str, reason: str) -> None:
    slow = recogniser("regex", pattern)
    accepted = [text for text in brute_force.texts(alphabet, 5) if re.fullmatch(pattern, text)]
    begun = {text.encode()[:end] for text in accepted for end in range(len(text.encode()) + 1)}
    for text in brute_force.texts(alphabet, 4):
        column = slow.run(text.encode())
        assert slow.accepts(column) == (re.fullmatch(pattern, text) is not None), text
    for text in brute_force.texts(alphabet, 3):
        for end in range(len(text.encode()) + 1):
            beginning = text.encode()[:end]
            assert (slow.run(beginning) != DEAD_COLUMN) == (beginning in begun), beginning


@pytest.mark.slow
def test_recogniser_agrees_with_grammar_oracle() -> None:
    """On the hard grammars that contain only literals."""
    texts = list(brute_force.byte_texts(b"abc", 5))
    for name, text in made_up.HARD.items():
        tree = parse_kbnf(Source(text, name))
        if "#" in text or "except!" in text:
            continue
        slow = recogniser("kbnf", text)
        for tried in Random(0).sample(texts, 60):
            oracle = GrammarOracle(tree, tried)
            column = slow.run(tried)
            assert (column != DEAD_COLUMN) == oracle.is_prefix, (name, tried)
            assert slow.accepts(column) == oracle.accepts, (name, tried)


def _is(pattern: bytes) -> brute_force.Language:
    return lambda text: re.fullmatch(pattern, text) is not None


TERMINALS: list[tuple[str, brute_force.Language]] = [
    ("#e'(a|b)*b|a'", lambda t: brute_force.is_first_match(_is(rb"(a|b)*b|a"), t)),
    ("#e'a*'",        lambda t: brute_force.is_first_match(_is(rb"a*"), t)),
    ("#ex'ab|bb'",    lambda t: brute_force.is_without_match(_is(rb"ab|bb"), t)),
    ("#ex'a+b'",      lambda t: brute_force.is_without_match(_is(rb"a+b"), t)),
    ("#substrs'abcab'", lambda t: t in brute_force.pieces(b"abcab")),
    ("except!('ab')", lambda t: bool(t) and b"ab" not in t),
    ("except!('c', 3)", lambda t: 0 < len(t) <= 3 and b"c" not in t),
]  # fmt: skip


@pytest.mark.parametrize(("terminal", "language"), TERMINALS, ids=[t[0] for t in TERMINALS])
def test_terminals_are_what_their_definition_says(
    terminal: str, language: brute_force.Language
) -> None:
    slow = recogniser("kbnf", f"start ::= {terminal};")
    for text in brute_force.byte_texts(b"abc", 5):
        column = slow.run(text)
        assert slow.accepts(column) == language(text), text
        if len(text) < 4:
            assert (column != DEAD_COLUMN) == brute_force.is_viable(language, text, b"abc", 3), text


def test_beginnings_of_characters() -> None:
    found: dict[bytes, list[int]] = {}
    for point in [*range(0x900), 0xFFFF, *range(0xFFF0, 0x10010), 0x10FFFF]:
        data = chr(point).encode()
        for end in range(1, len(data) + 1):
            found.setdefault(data[:end], []).append(point)
    for data, points in found.items():
        least, most = characters_from(data) or (1, 0)
        assert least <= min(points) <= max(points) <= most, data
    for data in (b"\x80", b"\xc0\x80", b"\xe0\x80", b"\xf0\x80", b"\xf4\x90", b"\xf5", b"aa"):
        assert characters_from(data) is None, data


def test_mask_by_brute_force_is_the_definition() -> None:
    """On a vocabulary with a hole: 'b' alone leads nowhere, since no token continues with 'c'."""
    vocabulary = toy(("a", "b", "bc", "ab", b"\xc3", "a"))
    decider = Decider(recogniser("regex", "a+|bca|ab"), Spellings(vocabulary))
    mask, sure = decider.mask(decider.recogniser.initial, 50)
    assert sure.all()
    assert np.flatnonzero(mask).tolist() == [0, 2, 3, 5]
    mask, _ = decider.mask(decider.run(decider.recogniser.initial, b"a"), 50)
    assert np.flatnonzero(mask).tolist() == [0, 1, 5, vocabulary.end]


KNOWN = Subject(
    "known", Notation.KBNF, "start ::= 'a' start? 'b' | #'[0-9é]+';", examples=("aé1b",)
)


def test_a_walk_finds_nothing_wrong() -> None:
    vocabulary = all_bytes()
    found = walked(KNOWN, vocabulary, Spellings(vocabulary), Random(1), 30)
    assert (found.status, found.wrong) == ("walked", 0)
    assert found.decisions == found.states * 257 > 257 * 5


def test_a_wrong_mask_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DfaConstraint.mask

    def without_sevens(self: DfaConstraint, state: int) -> TokenMask:
        mask = right(self, state)
        return TokenMask.of((i for i in mask if i != ord("7")), len(self.vocabulary))

    monkeypatch.setattr(DfaConstraint, "mask", without_sevens)
    vocabulary = all_bytes()
    subject = Subject("digits", Notation.REGEX, "x[0-9]")
    found = walked(subject, vocabulary, Spellings(vocabulary), Random(1), 5)
    assert found.wrong == 1
    wrong = found.examples[0]
    assert (wrong.prefix, wrong.token, wrong.expected) == ("'x'", "b'7'", True)
    assert wrong.grammar == "x[0-9]"


def test_grammars_of_every_notation_are_subjects() -> None:
    vocabulary = all_bytes()
    spellings = Spellings(vocabulary)
    subjects = [s for s in known_subjects() if s.notation not in ("regex", "kbnf")]
    assert {"json_schema", "dataclass"} <= {subject.notation for subject in subjects}
    for subject in subjects:
        found = walked(subject, vocabulary, spellings, Random(1), 10)
        assert (found.status, found.wrong) == ("walked", 0), (subject.name, found.examples)


def test_a_fault_is_counted_as_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "automaton", lambda *_: 1 // 0)
    vocabulary = all_bytes()
    found = walked(KNOWN, vocabulary, Spellings(vocabulary), Random(1), 5)
    assert found.wrong == 1
    assert "ZeroDivisionError" in found.examples[0].token


#   notation  text                            status     wrong
REFUSED = [
    ("kbnf",  "start ::= 'a' start;",         "refused", 0),
    ("regex", "é",                            "refused", 0),
    ("regex", "(",                            "unread",  0),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "status", "wrong"), REFUSED)
def test_refused_subject_is_compared_with_recogniser(
    notation: str, text: str, status: str, wrong: int
) -> None:
    vocabulary = toy(("a", "b"))
    subject = Subject("…", Notation(notation), text)
    found = walked(subject, vocabulary, Spellings(vocabulary), Random(1), 5)
    assert (found.status, found.wrong, found.decisions) == (status, wrong, 0)


def test_made_up_subjects_are_read_and_vocabularies_vary() -> None:
    random = Random(5)
    grammars = [recogniser("kbnf", made_up.grammar(random)) for _ in range(30)]
    regexes = [recogniser("regex", made_up.regex(random)) for _ in range(30)]
    assert sum(slow.initial != DEAD_COLUMN for slow in grammars + regexes) > 40
    vocabularies = [made_up.vocabulary(random, number) for number in range(8)]
    assert {Spellings(v).whole for v in vocabularies} == {True, False}
    assert all(len(v.ids_of) < len(v) - v.tokens.count(None) for v in vocabularies), (
        "duplicates and specials"
    )
    assert any(not _is_text(token) for v in vocabularies for token in v.ids_of if len(token) > 1)


def _is_text(token: bytes) -> bool:
    return token == token.decode("utf-8", "ignore").encode()


def _checked(*arguments: str) -> tuple[int, list[dict[str, object]], str]:
    result = CliRunner().invoke(app, ["--vocab", "all-bytes", *arguments])
    lines = [json.loads(line) for line in result.stdout.splitlines() if "--json" in arguments]
    return result.exit_code, lines, result.stdout + result.stderr


@pytest.mark.slow
def test_command_reports_its_decisions() -> None:
    status, _, output = _checked("--decisions", "30000", "--seed", "3")
    assert status == 0, output
    decided = re.search(r"([\d,]+) \(state, token\) decisions checked in \d+ s, wrong: 0", output)
    assert decided is not None
    assert int(decided[1].replace(",", "")) >= 30_000


@pytest.mark.slow
def test_command_is_reproducible_by_its_seed() -> None:
    first, second, other = (
        _checked("--decisions", "9000", "--json", "--seed", seed)[1][:-1] for seed in "334"
    )
    assert first == second != other


def test_command_exits_with_1_where_something_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "known_subjects", lambda: [KNOWN])
    monkeypatch.setattr(check._Walk, "_decided", property(lambda _: np.ones(257, np.bool_)))
    right = Decider.mask
    monkeypatch.setattr(
        Decider, "mask", lambda *a: ((m := right(*a))[0] ^ (np.arange(len(m[0])) == 5), m[1])
    )
    status, lines, _ = _checked("--decisions", "300", "--json")
    assert status == 1
    assert lines[0]["kind"] == "wrong"
    assert lines[0]["expected"] is True
    assert lines[-1]["wrong"] >= 1  # type: ignore[operator]


def test_error_no_such_vocabulary() -> None:
    status, _, output = _checked("--vocab", "/no/such/dir", "--decisions", "5")
    assert status == 2
    assert "error: " in output


def test_duplicate_tokens_are_decided_once() -> None:
    spellings = Spellings(Vocabulary((b"a", b"a", None, b"b"), end=2))
    assert len(spellings.lengths) == 2
    assert spellings.place.tolist() == [0, 0, -1, 1]
