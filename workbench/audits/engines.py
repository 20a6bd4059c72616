"""The engines that are audited: an adapter of each, and the program that shows a difference alone.

An adapter is that of ``engines.peers`` with the options that bring the engine closest
to this library's reading: any white space, undeclared properties, every tokenization.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import Distribution
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.engines.case import Case
from workbench.engines.peer import Compiled, Peer
from workbench.engines.peers import OutlinesCore, lark_of
from workbench.grammar.export.writers import write_gbnf, write_lark
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

#: The white space that Outlines is given, which by default allows one space at most.
OUTLINES_BLANKS = r"[ \t\n\r]*"


class Outlines(OutlinesCore):
    """Outlines through its core: a schema becomes a regex, and the regex an index over tokens."""

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.schema is None:
            return super().compiler(case)
        return partial(self.of_schema, case.schema)

    def of_schema(self, schema: str) -> Compiled:
        written: Any = import_module("outlines_core.json_schema").build_regex_from_schema
        return self.module.Index(written(schema, OUTLINES_BLANKS), self.tokens)


@dataclass(frozen=True, slots=True)
class AuditedEngine:
    """An engine, by its name on the command line."""

    name: str
    #: Its distribution on the package index, whose version is reported.
    distribution: str
    #: ``module:class`` of its adapter.
    adapter: str
    #: The import and the lines of a program that leave ``allowed`` for ``TEXT``, see ``program``.
    imports: str
    body: str
    #: How a program reads a constraint: by "schema", "regex" or "grammar".
    reads: dict[str, str]

    def version(self, folders: tuple[str, ...] = ()) -> str:
        """The installed version, also in further folders; empty if it is not installed."""
        paths = [*sys.path, *folders]
        distribution = next(iter(Distribution.discover(name=self.distribution, path=paths)), None)
        return distribution.version if distribution else ""


def adapter(path: str) -> type[Peer]:
    """The class ``module:class``; the engine is imported when an instance is created."""
    module, _, name = path.partition(":")
    kind: type[Peer] = getattr(import_module(module), name)
    return kind


_XGRAMMAR = """\
info = xgr.TokenizerInfo(tokens, xgr.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[END])
compiled = xgr.GrammarCompiler(info).{read}
matcher = xgr.GrammarMatcher(compiled)
for token in SO_FAR:
    assert matcher.accept_token(tokens.index(token)), token
mask = xgr.allocate_token_bitmask(1, len(tokens))
masked = matcher.fill_next_token_bitmask(mask)
allowed = not masked or bool(mask[0, wanted // 32] >> wanted % 32 & 1)
"""

_LLGUIDANCE = """\
class Tokens:
    eos_token_id, bos_token_id, special_token_ids = END, None, [END]
    tokens = [*tokens[:-1], b"\\xff<end>"]

    def __call__(self, text):
        return list(text if isinstance(text, bytes) else text.encode())


tokenizer = llg.LLTokenizer(llg.TokenizerWrapper(Tokens()))
grammar = llg.LLMatcher.grammar_from_lark({read})
matcher = llg.LLMatcher(tokenizer, grammar)
assert not matcher.is_error(), matcher.get_error()
for token in SO_FAR:
    assert matcher.consume_token(tokens.index(token)), token
mask = matcher.compute_bitmask()
allowed = bool(mask[wanted // 8] >> wanted % 8 & 1)
"""

_OUTLINES = """\
ids = {{token: [i] for i, token in enumerate(tokens[:-1])}}
index = outlines_core.Index({read}, outlines_core.Vocabulary(END, ids))
guide = outlines_core.Guide(index)
for token in SO_FAR:
    guide.advance(tokens.index(token))
allowed = wanted in guide.get_tokens()
"""

#: Every tokenization of forced text is allowed.
_NO_FORCING = '%llguidance {"no_forcing": true}\\n'

AUDITED: dict[str, AuditedEngine] = {
    engine.name: engine
    for engine in (
        AuditedEngine(
            "xgrammar",
            "xgrammar",
            "workbench.engines.peers:XGrammar",
            "import xgrammar as xgr",
            _XGRAMMAR,
            {
                "schema": "compile_json_schema(TEXT, any_whitespace=True, strict_mode=False)",
                "regex": "compile_regex(TEXT)",
                "grammar": "compile_grammar(TEXT)",
            },
        ),
        AuditedEngine(
            "llguidance",
            "llguidance",
            "workbench.engines.peers:LLGuidanceExact",
            "import llguidance as llg",
            _LLGUIDANCE,
            {
                "schema": f"'{_NO_FORCING}start: %json ' + TEXT",
                "regex": f"'{_NO_FORCING}' + TEXT",
                "grammar": f"'{_NO_FORCING}' + TEXT",
            },
        ),
        AuditedEngine(
            "outlines",
            "outlines_core",
            "workbench.audits.engines:Outlines",
            "import outlines_core\nfrom outlines_core.json_schema import build_regex_from_schema",
            _OUTLINES,
            {"schema": f'build_regex_from_schema(TEXT, r"{OUTLINES_BLANKS}")', "regex": "TEXT"},
        ),
    )
}


def engines_named(names: str, folders: tuple[str, ...] = ()) -> list[AuditedEngine]:
    """The engines named, separated by commas; "installed" is those that are.

    Raises: WorkbenchError for an unknown name, an engine that is not installed, or none at all.
    """
    choices = ", ".join(AUDITED)
    if names == "installed":
        engines = [engine for engine in AUDITED.values() if engine.version(folders)]
        if not engines:
            raise WorkbenchError(
                "none of the engines is installed", f"pip install one of {choices}, or name --site"
            )
        return engines
    chosen = []
    for name in dict.fromkeys(names.split(",")):
        if name not in AUDITED:
            raise WorkbenchError(f"there is no engine {name!r} to audit", f"choose from {choices}")
        if not AUDITED[name].version(folders):
            hint = f"pip install {AUDITED[name].distribution}, or name its folder with --site"
            raise WorkbenchError(f"{name} is not installed", hint)
        chosen.append(AUDITED[name])
    return chosen


def case_of(grammar: Grammar) -> Case:
    """A grammar in every notation that some engine reads; its own text where that is one of them.

    Raises: BuildError where it cannot be written.
    """
    text = grammar.source.text
    match grammar.notation:
        case Notation.JSON_SCHEMA:
            return Case("audited", "", schema=text)
        case Notation.REGEX:
            return Case("audited", "", regex=text)
        case Notation.GBNF if grammar.start == "root":
            return Case("audited", "", ebnf=text, lark=write_lark(grammar))
        case Notation.LARK if grammar.start == "start":
            return Case("audited", "", ebnf=write_gbnf(grammar), lark=text)
        case _:
            return Case("audited", "", ebnf=write_gbnf(grammar), lark=write_lark(grammar))


def program(
    engine: AuditedEngine, case: Case, so_far: list[bytes], token: bytes | None, says: str
) -> str:
    """A program for one engine alone that prints whether its mask allows a token.

    Its vocabulary has all single bytes, the other tokens of the text, and the end token, which is
    ``token`` None.

    ``says``  a comment: what should be printed, and why.
    """
    if case.schema is not None:
        kind, text = "schema", case.schema
    elif case.regex is not None and engine.name != "llguidance":
        kind, text = "regex", case.regex
    else:
        kind, text = "grammar", (case.ebnf if engine.name == "xgrammar" else lark_of(case)) or ""
    whole = [*so_far, token] if token is not None else so_far
    further = sorted({token for token in whole if len(token) > 1})
    if further:
        before = f"SO_FAR = {so_far!r}\n"
    else:
        before = f"SO_FAR = [bytes([byte]) for byte in {b''.join(so_far)!r}]\n"
    comment = "".join(f"# {line}\n" for line in says.splitlines())
    return (
        f"{comment}{engine.imports}\n\n"
        f"TEXT = {text!r}\n"
        f"{before}"
        f"tokens = [*(bytes([byte]) for byte in range(256)), *{further!r}, b'']\n"
        "END = len(tokens) - 1\n"
        f"wanted = {'END' if token is None else f'tokens.index({token!r})'}\n\n"
        f"{engine.body.format(read=engine.reads[kind])}"
        'print("allowed" if allowed else "forbidden")\n'
    )
