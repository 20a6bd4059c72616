"""Koo's appendix A: tokens that may not cross terminals put another text first."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.constraint.compile import compile as compile_grammar
from workbench.errors import WorkbenchError
from workbench.evaluate.contenders import CONTENDERS, Contender
from workbench.evaluate.exact import induced, own
from workbench.evaluate.experiment import Experiment, Record, Setting, Unit
from workbench.evaluate.invasive import forbidden_at
from workbench.evaluate.scored_model import ScoredModel
from workbench.evaluate.token_tree import TokenTree, token_tree
from workbench.grammar import Grammar
from workbench.training.card import table
from workbench.vocabulary.toy import toy

#: The tokenizations of the appendix with their scores.
_SCORED = {
    ("fo", "o(1", "2", "3)"): 0.4,
    ("bar", "(", "456", ")"): 0.3,
    ("foo", "(", "123", ")"): 0.2,
    ("ba", "r(4", "5", "6)"): 0.1,
}
_GRAMMAR = """start    ::= Function '(' Number ')';
Function ::= 'foo' | 'bar';
Number   ::= '123' | '456';
"""
_METHODS = ("automaton", "domino", "domino-0", "domino-1", "lalr", "outlines", "proper")


def _model() -> ScoredModel:
    pieces = [piece for pieces in _SCORED for piece in pieces]
    # the single bytes have no chance; DOMINO's trees with a finite lookahead need them
    words = list(dict.fromkeys([*pieces, *"".join(pieces)]))
    vocabulary = toy(words, name="Koo, appendix A")
    ids = {pieces: tuple(map(words.index, pieces)) for pieces in _SCORED}
    return ScoredModel(vocabulary, {ids[pieces]: score for pieces, score in _SCORED.items()})


def _measured(_: Setting) -> Record:
    model, grammar = _model(), Grammar.from_kbnf(_GRAMMAR)
    tree = token_tree(model, "", compile_grammar(grammar, model.vocabulary))
    alone = own(tree, ended=False).probability
    record: Record = {"alone": {text.decode(): p for text, p in alone.items()}}
    for name in _METHODS:
        record[name] = _of(CONTENDERS[name], model, grammar, tree)
    return record


def _of(contender: Contender, model: ScoredModel, grammar: Grammar, tree: TokenTree) -> Record:
    """The tokenizations a method allows, its best text, and how often it draws each text."""
    try:
        constraint = contender.prepare(model, grammar).constraint
        drawn = induced(tree, constraint).probability
    except WorkbenchError as error:
        return {"failed": error.message}
    allowed = {
        ids: score for ids, score in model.scores.items() if forbidden_at(constraint, ids) is None
    }
    best = max(allowed, key=allowed.__getitem__)
    return {
        "allowed": [_spelt(model, ids) for ids in allowed],
        "best": model.vocabulary.decode(best).decode(),
        "score": allowed[best],
        "drawn": {text.decode(): p for text, p in drawn.items()},
    }


def _spelt(model: ScoredModel, ids: tuple[int, ...]) -> str:
    return " ".join((model.vocabulary.tokens[i] or b"").decode() for i in ids)


_INTRODUCTION = """The appendix gives four tokenizations of two calls their scores; here a model
writes exactly these. *Best* is the highest-scoring tokenization a method allows."""


def _section(records: Mapping[str, Record]) -> str:
    record = records.get(_KEY)
    if record is None:
        return _INTRODUCTION
    head = ["method", "tokenizations allowed", "best", "score", "P(foo(123)) when sampling"]
    rows, failed = [], []
    for name in _METHODS:
        found = record[name]
        if "failed" in found:
            failed.append(f"{name}: {found['failed']}.")
            continue
        share = found["drawn"]["foo(123)"]
        told = "; ".join(f"`{spelt}`" for spelt in found["allowed"])
        rows.append([name, told, f"`{found['best']}`", f"{found['score']}", f"{share:.2f}"])
    inverted = [row[0] for row in rows if row[2] == "`bar(456)`"]
    verdict = (
        f"As the appendix says, the ranking is inverted by {', '.join(inverted)}: tokens that"
        " cross terminals, like `o(1`, are forbidden there."
        if inverted
        else "No method here inverts the ranking."
    )
    return "\n\n".join([_INTRODUCTION, table(head, rows), verdict, *failed])


_KEY = "koo A/ranking"

RANKING = Experiment(
    name="koo-a",
    title="The ranking inversion",
    source="Koo, Liu & He 2024, appendix A",
    units=lambda _: (Unit(_KEY, _measured),),
    section=_section,
)
