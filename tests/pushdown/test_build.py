"""From grammar to machine: which grammars need a stack, left recursion, and errors."""

from __future__ import annotations

import pytest

from tests.oracles.grammar_oracle import GrammarOracle
from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.constraint.compile import compile
from workbench.grammar.export.registry import export
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.vocabulary.toy_vocabularies import all_bytes


def machine(text: str, limits: Limits | None = None) -> Dfa | Network:
    return build(parse_kbnf(Source(text, "g")), limits=limits or Limits())


#   grammar                                                     states  because
REGULAR = [
    ("start ::= 'a' 'b' | 'a' 'c';",                            3,      "choices are merged"),
    ("start ::= 'a' start | 'b';",                              2,      "a loop"),
    ("start ::= x 'c'; x ::= 'a' y | ''; y ::= 'b' x;",         3,      "a cycle of tail calls"),
    ("start ::= ws 'x' ws; ws ::= (' ' ws)?;",                  2,      "one rule called twice"),
    ("start ::= a a; a ::= b b; b ::= 'x';",               5,      "rules that do not recurse"),
    ("start ::= 'a' | bad; bad ::= 'b' bad;",                   2,      "an alternative that never ends is left out"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "states", "because"), REGULAR, ids=[r[0] for r in REGULAR])
def test_regular_grammars_become_a_dfa(text: str, states: int, because: str) -> None:
    built = machine(text)
    assert isinstance(built, Dfa), because
    assert len(built) == states


#   grammar                                                     rules
NEEDS_A_STACK = [
    ("start ::= 'ab' | 'a' start 'b';",                         ("start",)),
    ("start ::= '[' list? ']'; list ::= item (',' item)*; item ::= start | 'x';", ("start", "item")),
    ("start ::= e; e ::= t ('+' t)*; t ::= '(' e ')' | #'[0-9]';", ("start", "e")),
    ("start ::= s s; s ::= '(' s ')' | '';",                    ("start", "s")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rules"), NEEDS_A_STACK, ids=[r[0] for r in NEEDS_A_STACK])
def test_self_embedding_needs_a_stack(text: str, rules: tuple[str, ...]) -> None:
    built = machine(text)
    assert isinstance(built, Network)
    assert built.names == rules


def test_right_recursion_inside_a_stack_does_not_grow_it() -> None:
    built = machine("start ::= item; item ::= '(' item ')' | 'x' ',' item | 'x';")
    assert isinstance(built, Network)
    runner = Runner(built)
    situation = runner.run(b"(" + b"x," * 500)
    depths = {len(runner.stack(node)) for _, node in runner.configurations(situation)}
    assert depths == {1}


def test_equal_situations_are_identical() -> None:
    built = machine("start ::= 'a' start 'b' | 'ab';")
    assert isinstance(built, Network)
    runner = Runner(built)
    assert runner.run(b"aaabb") == runner.run(b"aab")


REFUSED = [
    (
        "start ::= 'a' itme; item ::= 'b';",
        "undefined_nonterminal",
        "g, line 1, column 15: the nonterminal 'itme' has no rule\n"
        "1 | start ::= 'a' itme; item ::= 'b';\n"
        "                  ^^^^\n"
        "hint: did you mean 'item'?",
    ),
    (
        "start ::= name; number ::= 'b';",
        "undefined_nonterminal",
        "g, line 1, column 11: the nonterminal 'name' has no rule\n"
        "1 | start ::= name; number ::= 'b';\n"
        "              ^^^^\n"
        "hint: add a rule such as  name ::= '…';",
    ),
    (
        "begin ::= 'a';",
        "undefined_nonterminal",
        "g, line 1, column 1: the start symbol 'start' has no rule\n"
        "1 | begin ::= 'a';\n"
        "    ^^^^^\n"
        "hint: name the first rule 'start', or choose another start symbol",
    ),
    (
        "start ::= '' start;",
        "empty_grammar",
        "g, line 1, column 1: 'start' has no text\n"
        "1 | start ::= '' start;\n"
        "    ^^^^^\n"
        "hint: give it an alternative that calls no rule without a text, or write '' for the empty"
        " text",
    ),
    (
        "start ::= 'a' start;",
        "unproductive",
        "g, line 1, column 1: 'start' never finishes: no text can be derived from it\n"
        "1 | start ::= 'a' start;\n"
        "    ^^^^^\n"
        "hint: give a recursive rule an alternative that ends",
    ),
    (
        "start ::= except!(x) 'b'; x ::= #'b';",
        "invalid_except",
        "g, line 1, column 19: except! takes an alternation of non-empty strings, not regexes or"
        " repetitions\n"
        "1 | start ::= except!(x) 'b'; x ::= #'b';\n"
        "                      ^\n"
        "hint: name a rule that contains only strings and '|'",
    ),
]


@pytest.mark.parametrize(("text", "kind", "message"), REFUSED, ids=[r[0] for r in REFUSED])
def test_error_when_it_cannot_be_built(text: str, kind: str, message: str) -> None:
    with pytest.raises(BuildError) as caught:
        machine(text)
    assert caught.value.kind == kind
    assert str(caught.value) == message


#   notation        grammar
EMPTY = [
    (Notation.KBNF, "start ::= '';"),
    (Notation.KBNF, "start ::= '' start? x*; x ::= '';"),
    (Notation.GBNF, 'start ::= ""'),
    (Notation.LARK, "start: x~2\nx:\n"),
    (Notation.REGEX, ""),
]


@pytest.mark.parametrize(("notation", "text"), EMPTY)
def test_empty_text_may_be_the_only_one(notation: Notation, text: str) -> None:
    grammar = Grammar.from_text(text, notation, "start")
    assert grammar.accepts("")
    assert not grammar.accepts("a")
    assert grammar.is_regular
    constraint = compile(grammar, all_bytes())
    assert constraint.mask(constraint.initial).ids.tolist() == list(constraint.vocabulary.ends)
    for to in ("kbnf", "gbnf", "lark"):
        again = Grammar.from_text(export(grammar, to, **{ROOT[to]: "start"}), to, "start")
        assert again.accepts("")
        assert not again.accepts("a")


ROOT = {"kbnf": "start", "gbnf": "root", "lark": "start"}


#   grammar                                                     accepts             rejects        states, 0 with a stack
LEFT = [
    ("start ::= start 'x' | 'y';",                              "y yx yxx",         "x xy yy",     2),
    ("start ::= e; e ::= e '+' e | 'n';",                       "n n+n n+n+n",      "+ n+ nn",     2),
    ("start ::= a; a ::= b 'x'; b ::= a 'y' | 'z';",            "zx zxyx zxyxyx",   "z zxy x",     3),
    ("start ::= n start 'x' | 'y'; n ::= 'z'?;",                "y yx zyx zzyxx yxx", "zy zzyx",   0),
    ("start ::= (start)* 'x';",                                 "x xx xxx",         "y",           0),
    ("start ::= 'a' | b; b ::= '' '' b 'c' | 'd';",             "a d dc dcc",       "ac c",        0),
    ("start ::= start | 'a' | start start;",                    "a aa aaa",         "b",           2),
    ("start ::= digits; digits ::= '1'; digits ::= digits+;",   "1 11 111",         "a 1a",        2),
    ("start ::= e; e ::= e '+' t | t; t ::= t '*' f | f; f ::= '(' e ')' | 'n';",
                                                                "n n*n+n (n+n)*n ((n))", "(n n+ n)", 0),
    ("start ::= e; e ::= e '+' e | e '*' e | '(' e ')' | 'n';", "n n*n+n (n+n)*n ((n))", "(n n+ n)", 0),
    ("start ::= a; a ::= a b | 'a'; b ::= b a | 'b';",          "a ab aba abab",    "b aab",       0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "accepts", "rejects", "states"), LEFT, ids=[r[0] for r in LEFT])
def test_left_recursion_of_every_kind(text: str, accepts: str, rejects: str, states: int) -> None:
    tree = parse_kbnf(Source(text, "g"))
    grammar = Grammar(tree.source, Notation.KBNF, build(tree), tree=tree)
    for accepted in accepts.split():
        assert grammar.accepts(accepted), accepted
        assert GrammarOracle(tree, accepted.encode()).accepts, "a mistake in the table"
    for rejected in rejects.split():
        assert not grammar.accepts(rejected), rejected
    if states:
        assert isinstance(grammar.machine, Dfa), "a regular language"
        assert len(grammar.machine) == states


def test_ambiguity_does_not_add_configurations() -> None:
    """All derivations of a sum share the same few configurations."""
    built = machine("start ::= e; e ::= e '+' e | e '*' e | '(' e ')' | 'n';")
    assert isinstance(built, Network)
    runner = Runner(built)
    situation = runner.run(b"(n" + b"+n*n" * 200)
    # inside the sum, or after it and before the bracket
    assert len(runner.configurations(situation)) == 2
    assert len(runner) < 30


def test_rules_with_many_copies_are_not_inlined() -> None:
    doublings = 14
    rules = " ".join(f"x{i} ::= x{i + 1} x{i + 1};" for i in range(doublings))
    text = f"start ::= x0; {rules} x{doublings} ::= 'a'|'b';"
    built = machine(text, Limits(seconds=60))
    assert isinstance(built, Network)
    assert len(built) < 3 * 2**13, "two copies of half of it instead of one of all"
    runner = Runner(built)
    assert runner.is_final(runner.run(b"ab" * 2**13))


def test_error_when_excepted_strings_explode() -> None:
    with pytest.raises(LimitError, match="unrolled"):
        machine(f"start ::= except!(m) 'x'; m ::= {'b ' * 60}; b ::= 'a' | 'b';")


def test_error_above_the_stack_depth() -> None:
    built = machine("start ::= '(' start ')' | 'x';")
    assert isinstance(built, Network)
    with pytest.raises(LimitError, match="stack depth"):
        Runner(built, Limits(stack_depth=20)).run(b"(" * 30)


def test_error_many_rules_need_too_much_memory_for_their_automata() -> None:
    """The automata have a symbol for each rule: together the square of their number."""
    chain = "".join(f"r{k} ::= 'a' r{k + 1} 'b' | 'c';" for k in range(1_000))
    text = f"start ::= r0; {chain} r1000 ::= 'd';"
    few, enough = Limits(megabytes=4), Limits(megabytes=64)
    assert len(Grammar.from_kbnf(text, limits=enough).rules.names) == 1_002
    with pytest.raises(LimitError, match="4 megabytes"):
        _ = Grammar.from_kbnf(text, limits=few).rules
