"""The gallery: every table of gallery.toml against its grammar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.training.corpus.mixture import FORMATS
from workbench.app.pipeline import compile_text
from workbench.app.ui.compare_opening import RECORDED as RECORDED_COMPARISON
from workbench.app.ui.replay import GROUPS
from workbench.base.errors import ParseError, WorkbenchError
from workbench.base.resources import GRAMMARS
from workbench.constraint.combined import is_small
from workbench.grammar.gallery import Example, load_gallery, recorded_run
from workbench.grammar.grammar import Grammar

GALLERY = load_gallery()
EXAMPLES = list(GALLERY.values())


def grammar(example: Example) -> Grammar:
    return Grammar.from_text(example.text, example.notation, example.start)


@pytest.fixture(scope="module")
def built() -> dict[str, Grammar]:
    return {example.name: grammar(example) for example in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_accepts_and_rejects(example: Example, built: dict[str, Grammar]) -> None:
    machine = built[example.name]
    assert [text for text in example.accepts if not machine.accepts(text)] == []
    assert [text for text in example.rejects if machine.accepts(text)] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_prefixes_of_accepted_texts_stay_open(example: Example, built: dict[str, Grammar]) -> None:
    machine = built[example.name]
    for text in example.accepts:
        data = text.encode()
        assert all(machine.is_prefix(data[:end]) for end in range(len(data) + 1))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_tables_are_complete(example: Example) -> None:
    assert len(example.accepts) >= 3 or example.name in ("yes_or_no", "figure_1_ab"), "a few texts"
    assert len(example.rejects) >= 3
    assert len({*example.accepts, *example.rejects}) == len(example.accepts + example.rejects)
    assert example.note.endswith(".")
    assert not example.title.endswith(".")
    assert max(map(len, example.text.splitlines())) <= 100


def test_every_group_has_examples() -> None:
    assert len(GALLERY) >= 26
    assert list(GALLERY.groups) == [
        "Start here", "Everyday formats", "JSON and code", "Tools and thoughts", "From the papers",
        "Figures", "Classics", "Drawn machines",
    ]  # fmt: skip
    assert next(iter(GALLERY)) == "date"
    assert len({example.title for example in EXAMPLES}) == len(EXAMPLES)


def test_prompts_are_ones_the_embedded_model_was_trained_on() -> None:
    trained = {prompt for form in FORMATS for prompt in form.prompts}
    others = {one.name for one in EXAMPLES if one.prompt not in trained and one.group not in GROUPS}
    assert others == {"figure_5", "typed"}, "the tokens of a figure; a language of this project"


RECORDED = {one.name: one for one in EXAMPLES if one.group in GROUPS}


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_run_is_accepted_and_has_a_refused_choice(
    name: str, built: dict[str, Grammar]
) -> None:
    example, run = RECORDED[name], recorded_run(name)
    records = [json.loads(line) for line in run.splitlines()]
    head, steps = records[0], [record for record in records if record["k"] == "step"]
    tokens = [step["token"] for step in steps]
    assert built[name].accepts(b"".join(token_bytes(token) for token in tokens).decode())
    assert tokens[-1].get("end")
    assert records[-1]["good"]
    assert any(step["cut"] for step in steps)
    assert head["max_tokens"] == example.max_tokens >= len(steps)
    assert head["small_tokens"] == example.small_tokens
    if example.small_tokens:
        assert all(is_small(token_bytes(token)) for token in tokens[:-1])
        assert max(moment["depth"] for step in steps for moment in step["path"]["stacks"]) >= 4


def token_bytes(token: dict[str, Any]) -> bytes:
    return bytes.fromhex(token["hex"]) if "hex" in token else str(token.get("text", "")).encode()


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_states_are_those_of_the_machines(name: str) -> None:
    example = RECORDED[name]
    follower = compile_text(example.text, example.notation, example.start).follower()
    for record in map(json.loads, recorded_run(name).splitlines()):
        if record["k"] == "step":
            place = follower.take(token_bytes(record["token"]))
            found = json.loads(json.dumps([place.state, place.path, place.stack]))
            assert found == [record["state"], record["path"], record["stack"]], RECORD_AGAIN


RECORD_AGAIN = "run python -m workbench.app.ui.replay"


def test_every_file_has_a_table() -> None:
    files = {path.name for path in GRAMMARS.iterdir() if path.name != "gallery.toml"}
    recorded = {name for name in files if name.endswith(".trace.ndjson")}
    files -= {RECORDED_COMPARISON.name}
    assert files - recorded == {example.file for example in EXAMPLES}
    assert recorded == {f"{name}.trace.ndjson" for name in RECORDED}


def test_the_final_line_break_of_a_regex_file_is_ignored() -> None:
    assert GALLERY["yes_or_no"].text == "Yes|No"
    assert GALLERY["person"].text.endswith(";\n")


ROW = """\
[one]
group = "G"
title = "T"
note = "N."
prompt = "P"
max_tokens = 9
accepts = ["a"]
rejects = ["b"]
"""

#   what is changed             by what               the message                           at
WRONG = [
    ('title = "T"', "", "one: expected title", 1),
    ('title = "T"', 'titel = "T"', "one: there is no key 'titel'", 3),
    ("max_tokens = 9", "max_tokens = 0", "one: expected a number above 0 as max_tokens, not 0", 6),
    ('"P"', '""', "one: expected some text as prompt, not ''", 5),
    ('["a"]', '"a"', "one: expected a list of texts as accepts, not 'a'", 7),
    ("[one]", "[One]", "expected a table with a plain name, not 'One'", 1),
    ("[one]", "[two]", "expected one grammar of the name two beside the gallery, not 0", 1),
    ('"N."', '"N.', "expected TOML: illegal character '\\n'", 4),
    ('title = "T"', 'title = "T"\nsmall_tokens = 1', "one: expected true or false as small_tokens, not 1", 4),
    ("[one]", "a = 1\n[one]", "expected a table with a plain name, not 'a'", 1),
]  # fmt: skip


@pytest.mark.parametrize(("what", "by", "message", "line"), WRONG, ids=[row[2] for row in WRONG])
def test_error_in_the_table(tmp_path: Path, what: str, by: str, message: str, line: int) -> None:
    (tmp_path / "one.regex").write_text("a\n")
    (tmp_path / "gallery.toml").write_text(ROW.replace(what, by))
    with pytest.raises(ParseError) as caught:
        load_gallery(tmp_path)
    assert caught.value.message == message
    assert caught.value.source.position(caught.value.span.start)[0] == line


def test_error_for_a_file_without_a_table(tmp_path: Path) -> None:
    for name in ("one.regex", "two.kbnf"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "gallery.toml").write_text(ROW)
    with pytest.raises(WorkbenchError, match=r"two\.kbnf is no example"):
        load_gallery(tmp_path)


def test_error_for_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="expected a gallery at"):
        load_gallery(tmp_path)
