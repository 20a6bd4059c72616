"""Exported programs, run with the installed engines, generate the gallery's texts and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from workbench.base.resources import BUILTIN_MODEL
from workbench.grammar.export.registry import PROGRAMS, export
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of

pytestmark = [pytest.mark.peers, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
GALLERY = load_gallery()
#: vLLM's program is not run: the engine is large, and xgrammar reads the same GBNF.
ENGINES = [engine for engine in PROGRAMS if engine != "vllm"]
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
#: No token contains its last character and more, so no engine tokenizes the prompt's end again.
PROMPT = "Text:~"


class Difference(NamedTuple):
    """What an engine does differently: for the texts with one of ``parts``, or all of a grammar."""

    reason: str
    #: Texts on which the engine and this library disagree contain one of them; others do not.
    parts: tuple[str, ...] = ()
    #: A part of the error with which the engine refuses the grammar; it applies to every text.
    error: str = ""


_ESCAPE = "\\u00e9"
#: By engine and example. A row that is wrong fails, also where a new version of an engine agrees.
DIFFERENCES = {
    ("llguidance", "friends"): Difference("escapes \\u are not read in strings with a length", (_ESCAPE,)),
    ("llguidance", "weather"): Difference("no if, then, else", error='keys: ["else", "if", "then"]'),
    ("llguidance", "product"): Difference("no unevaluatedProperties", error='keys: ["unevaluatedProperties"]'),
    ("llguidance", "settings"): Difference("no dependentRequired", error='keys: ["dependentRequired"]'),
    ("guidance", "friends"): Difference("as llguidance, which it uses", (_ESCAPE,)),
    ("guidance", "weather"): Difference("as llguidance", error='keys: ["else", "if", "then"]'),
    ("guidance", "product"): Difference("as llguidance", error='keys: ["unevaluatedProperties"]'),
    ("guidance", "settings"): Difference("as llguidance", error='keys: ["dependentRequired"]'),
    ("xgrammar", "friends"): Difference("escapes \\u are not read in strings with a length", (_ESCAPE,)),
    ("xgrammar", "weather"): Difference("if, then and else are ignored", ('134, "unit": "celsius"',)),
    ("xgrammar", "product"): Difference(
        "no text satisfies its reading of allOf, oneOf and unevaluatedProperties",
        ('"category": "home"', '"id": 7', '"price": 0.5'),
    ),
    ("xgrammar", "settings"): Difference(
        "dependentRequired is ignored; names of patternProperties and escaped names are taken as undeclared",
        ('{"port": 8080, "debug"', '"loud"', "por\\u0074"),
    ),
    ("outlines", "friends"): Difference(
        "one space at most between lexemes; no escapes \\u; maximum is ignored", ("\n", _ESCAPE, "121")
    ),
    ("outlines", "weather"): Difference(
        "if, then, else and multipleOf are ignored", ('134, "unit": "celsius"', '"humidity": 84')
    ),
    ("outlines", "product"): Difference(
        "allOf is read alone, without oneOf beside it", ('"category": "home"', '"id": 7', '"price": 0.5', '"price": 5}')
    ),
    ("outlines", "settings"): Difference(
        "no format without a type", error='Unsupported JSON Schema structure {"format":"ipv4"}'
    ),
}  # fmt: skip


class Runner:
    """A process that runs programs, see ``tests.export.program_runner``."""

    def __init__(self, messages: IO[str]) -> None:
        self._messages = messages
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.export.program_runner"],
            cwd=ROOT, env=os.environ | OFFLINE,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True,
        )  # fmt: skip

    def outcomes(self, program: str, prompt: str, texts: tuple[str, ...]) -> list[str]:
        """``accepted``, ``refused`` or an error for each text."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        record = {"program": program, "prompt": prompt, "texts": texts}
        print(json.dumps(record), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, self._end()
        found: list[str] = json.loads(answer)
        return found

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _end(self) -> str:
        self.close()
        self._messages.seek(0)
        return self._messages.read()[-2000:]


def engine_or_skip(engine: str) -> str:
    if find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed: pip install '.[peers]'")
    return engine


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return engine_or_skip(request.param)


@pytest.fixture(scope="module")
def runner(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with (tmp_path_factory.mktemp(engine) / "messages").open("w+") as messages:
        made = Runner(messages)
        yield made
        made.close()


def grammar_for(engine: str, name: str) -> Grammar:
    example = GALLERY[name]
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    if engine != "transformers" and (labels := labels_of(grammar)):
        pytest.skip(f"no other notation says {labels[0][0].name}: one token is no text")
    return grammar


@pytest.mark.parametrize("name", GALLERY)
def test_a_program_generates_what_the_grammar_accepts(
    engine: str, runner: Runner, name: str
) -> None:
    grammar, example = grammar_for(engine, name), GALLERY[name]
    program = export(grammar, engine, model=str(BUILTIN_MODEL), prompt=PROMPT)
    texts = (*example.accepts, *example.rejects)
    outcomes = dict(zip(texts, runner.outcomes(program, PROMPT, texts), strict=True))
    # a program of this library writes what the page writes: JSON with one space
    written = grammar.for_generation if engine == "transformers" else grammar
    ours = {text: "accepted" if written.accepts(text) else "refused" for text in texts}
    known = DIFFERENCES.get((engine, name), Difference(""))
    if known.error:
        assert all(known.error in outcome for outcome in outcomes.values()), outcomes
        return
    differing = {text: outcomes[text] for text in texts if outcomes[text] != ours[text]}
    assert set(differing) == {t for t in texts if any(part in t for part in known.parts)}, differing
    assert set(outcomes.values()) <= {"accepted", "refused"}


@pytest.mark.parametrize("name", ["date", "person"])
def test_a_program_runs_as_it_is(engine: str, name: str, tmp_path: Path) -> None:
    """The embedded model chooses the tokens, and no function is replaced."""
    grammar, example = grammar_for(engine, name), GALLERY[name]
    file = tmp_path / "program.py"
    file.write_text(
        export(grammar, engine, model=str(BUILTIN_MODEL), prompt=example.prompt), "utf-8"
    )
    done = subprocess.run(
        [sys.executable, file], env=os.environ | OFFLINE | {"PYTHONPATH": str(ROOT)},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert grammar.accepts(done.stdout.removesuffix("\n")), done.stdout


def test_guidance_fails_where_it_tokenizes_the_prompt_again(tmp_path: Path) -> None:
    """guidance 0.3 cuts the cache with a call that transformers 5 refuses; see ``PROMPT``."""
    program = export(
        grammar_for(engine_or_skip("guidance"), "json"), "guidance", model=str(BUILTIN_MODEL), prompt="Text:\n"
    )  # fmt: skip
    with (tmp_path / "messages").open("w+") as messages:
        runner = Runner(messages)
        (outcome,) = runner.outcomes(program, "Text:\n", ("[]",))
        runner.close()
    assert "Calling `crop` with a positive value" in outcome
