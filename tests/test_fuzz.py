"""``python -m lab fuzz``: what it tests, and that it finds what is wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from lab import fuzz
from lab.commands import app
from lab.fuzz import Finding, Subject
from workbench.grammar.export.registry import export
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation


def test_the_same_seed_gives_the_same_texts() -> None:
    def texts(seed: int) -> list[str]:
        random = Random(seed)
        return [fuzz.mutated(random, fuzz.subjects()).text for _ in range(50)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
    assert len(set(texts(1))) > 45


def test_seeds_have_all_notations_and_are_grammars() -> None:
    assert {subject.notation for subject in fuzz.subjects()} == set(Notation)
    for subject in fuzz.subjects():
        Grammar.from_text(subject.text, subject.notation, subject.start)


@pytest.mark.slow
def test_changed_grammars_have_no_faults() -> None:
    found: list[Finding] = []
    (*_, report) = fuzz.fuzz(texts=150, seed=2, found=found.append)
    assert not found
    assert report.counts["texts"] == 150
    assert report.counts["refused"] > 50
    for stage in ("grammars", "masks", "generation", "conversions", "libraries"):
        assert report.counts[stage] > 20


REGEX = Subject("(ab|c)+d", Notation.REGEX)


def faults(subject: Subject) -> list[Finding]:
    return list(fuzz.tested(subject, Random(0), Counter()))


def test_every_oracle_finds_a_wrong_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not faults(REGEX)
    monkeypatch.setattr(fuzz, "samples", lambda *_, **__: ("d",))
    assert {finding.stage for finding in faults(REGEX)} == {"masks", "conversions", "libraries"}
    monkeypatch.undo()
    monkeypatch.setattr(Grammar, "accepts", lambda *_: False)
    assert "generation" in {finding.stage for finding in faults(REGEX)}


def test_an_exception_and_a_hang_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(fuzz, "export", fail)
    assert [(one.stage, one.fault) for one in faults(REGEX)] == [
        ("conversions", "RuntimeError: broken")
    ]
    monkeypatch.setattr(fuzz, "MAX_STAGE_SECONDS", 0.0)
    (finding,) = fuzz._staged("build", REGEX, lambda: sum(range(10**5)), 0.0)
    assert finding.fault.startswith("took")


def test_a_fault_is_made_smaller_stored_and_tested_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = export

    def fail(grammar: Grammar, to: str) -> str:
        if "c" in grammar.source.text:
            raise RuntimeError("broken")
        return given(grammar, to)

    monkeypatch.setattr(fuzz, "export", fail)
    (finding,) = faults(REGEX)
    small = fuzz.shrunk(finding)
    assert small.subject.text == "(c)"
    path = fuzz.stored(small, tmp_path)
    assert json.loads(path.read_text())["stage"] == "conversions"
    assert fuzz.again(path) == [small]
    ran = CliRunner().invoke(app, ["fuzz", "--again", str(path)])
    assert ran.exit_code == 1
    assert ran.output == "conversions: RuntimeError: broken\n"
    monkeypatch.setattr(fuzz, "export", given)
    assert CliRunner().invoke(app, ["fuzz", "--again", str(path)]).exit_code == 0


@pytest.mark.slow
def test_the_command_counts_and_stores(tmp_path: Path) -> None:
    asked = ["fuzz", "--texts", "20", "--notation", "regex", "--out", str(tmp_path / "faults")]
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 0
    assert "texts 20; faults 0" in ran.output
    assert not (tmp_path / "faults").exists()


def test_files_of_runs_are_changed_and_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(3)
    texts = [fuzz.changed_run(REGEX, random) for _ in range(40)]
    assert len(set(texts)) > 35
    assert sum('"(ab|c)+d"' in text for text in texts) > 30
    found = [finding for text in texts for finding in fuzz._replay(Subject(text, Notation.REGEX))]
    assert not found

    def fail(_: str) -> str:
        raise TypeError("broken")

    monkeypatch.setattr(fuzz, "replay_page", fail)
    (finding,) = fuzz._replay(Subject(texts[0], Notation.REGEX))
    assert (finding.stage, finding.fault) == ("replay", "TypeError: broken")
