"""The gallery: every row of gallery.toml against the grammar it speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import ParseError, WorkbenchError
from workbench.gallery import Example, load_gallery
from workbench.grammar import Grammar
from workbench.resources import GRAMMARS
from workbench.training.mixture import FORMATS

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
def test_rows_are_whole(example: Example) -> None:
    assert len(example.accepts) >= 3 or example.name in ("yes_or_no", "figure_1_ab"), "a few texts"
    assert len(example.rejects) >= 3
    assert len({*example.accepts, *example.rejects}) == len(example.accepts + example.rejects)
    assert example.note.endswith(".")
    assert not example.title.endswith(".")
    assert max(map(len, example.text.splitlines())) <= 100


def test_there_is_something_for_everybody() -> None:
    assert len(GALLERY) >= 26
    assert list(GALLERY.groups) == [
        "Start here", "Everyday formats", "JSON and code", "From the papers", "Figures", "Classics",
    ]  # fmt: skip
    assert next(iter(GALLERY)) == "person"
    assert len({example.title for example in EXAMPLES}) == len(EXAMPLES)


#: Prompts that are not the training corpus's: a figure's own.
OTHER_PROMPTS = {"figure_5"}


def test_prompts_are_ones_the_embedded_model_was_trained_on() -> None:
    trained = {prompt for form in FORMATS for prompt in form.prompts}
    strange = {example.name for example in EXAMPLES if example.prompt not in trained}
    assert strange == OTHER_PROMPTS


def test_files_and_rows_belong_together() -> None:
    files = {path.name for path in GRAMMARS.iterdir() if path.name != "gallery.toml"}
    recorded = {name for name in files if name.endswith(".trace.ndjson")}
    assert files - recorded == {example.file for example in EXAMPLES}
    assert recorded <= {f"{example.name}.trace.ndjson" for example in EXAMPLES}


def test_the_line_break_at_the_end_of_a_regex_file_is_no_part_of_it() -> None:
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


def test_error_for_a_file_no_row_names(tmp_path: Path) -> None:
    for name in ("one.regex", "two.kbnf"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "gallery.toml").write_text(ROW)
    with pytest.raises(WorkbenchError, match=r"two\.kbnf is no example"):
        load_gallery(tmp_path)


def test_error_for_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="expected a gallery at"):
        load_gallery(tmp_path)
