from __future__ import annotations

import pytest

from workbench.errors import WorkbenchError
from workbench.pipeline import Notation, compile_text
from workbench.ui.follow import NOWHERE, Follower


def follower(text: str, notation: Notation = Notation.REGEX) -> Follower:
    return Follower(compile_text(text, notation))


def test_a_token_passes_the_states_of_its_bytes() -> None:
    run = follower("abc|abd")
    place = run.take(b"ab")
    assert len(place.path["characters"]) == 3
    assert run.take(b"c").path["characters"][0] == place.path["characters"][-1]
    assert place.stack == ()


def test_the_rules_that_read_the_token_are_told() -> None:
    sums = "start ::= term ('+' term)*; term ::= factor ('*' factor)*; factor ::= #'[0-9]+';"
    run = follower(sums, Notation.KBNF)
    assert run.take(b"1").stack == ("start",)
    # after a digit any of the three rules may go on: the one that reads the token is meant
    assert run.take(b"*").stack == ("start", "term")
    run.take(b"2")
    assert run.take(b"3").stack == ("start", "term", "factor")
    assert run.take(b"+").stack == ("start",)


def test_the_end_token_passes_nothing() -> None:
    run = follower("a")
    run.take(b"a")
    assert len(run.take(b"").path["characters"]) == 1


def test_outside_the_language_it_is_nowhere() -> None:
    run = follower("ab")
    assert run.take(b"ax").path["characters"] == [["0"], ["1"]]
    after = run.take(b"b")
    assert (after.state, after.path, after.stack) == (NOWHERE, {}, ())


def test_error_a_grammar_that_cannot_be_read() -> None:
    with pytest.raises(WorkbenchError, match="cannot be read"):
        follower("[")
