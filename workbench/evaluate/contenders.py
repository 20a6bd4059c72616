"""Contenders: the ways of decoding that are compared; each a method, options and a strategy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import Generation, generate
from workbench.decoding.model import LanguageModel, Session
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, Strategy
from workbench.decoding.turn import since
from workbench.errors import WorkbenchError
from workbench.evaluate.learning import STRATEGIES, Drafts, Guessing, warm_up
from workbench.evaluate.programs import program_of
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits

UNCONSTRAINED = "unconstrained"  # everything is measured against it

_WILLARD = "Willard & Louf 2023"
_DOMINO = "Beurer-Kellner, Fischer & Vechev 2024 (DOMINO)"
_KOO = "Koo, Liu & He 2024"
_TRAN = "Tran-Thien 2024"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way to decode, as the command line and the page speak of it."""

    name: str
    #: One line for people.
    title: str
    #: The mask, one of ``METHODS``.
    method: str
    #: The method's own.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: How the model is asked, one of ``STRATEGIES``: ``plain`` is once a token.
    strategy: str = "plain"
    #: Whether a template that somebody wrote for the grammar takes the grammar's place.
    program: bool = False
    #: What a strategy learns on warm-up runs before it is used; None for one that learns nothing.
    learns: Guessing | Drafts | None = None
    #: Who described it, and where.
    source: str

    def prepare(self, model: LanguageModel, grammar: Grammar, limits: Limits = LIMITS) -> Prepared:
        """Compile the grammar this way.

        Raises: WorkbenchError where the method does not apply to the grammar or the vocabulary
                and says why; LimitError.
        """
        started = time.perf_counter()
        read = program_of(grammar, limits) if self.program else grammar
        constraint = compile_grammar(read, model.vocabulary, self.method, limits, **self.options)
        return Prepared(self, model, constraint, since(started), STRATEGIES[self.strategy])


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A contender that has compiled a grammar and may be started on any prompt."""

    contender: Contender
    model: LanguageModel
    constraint: Constraint
    #: Milliseconds the compilation took.
    compile_ms: float
    strategy: Strategy = PLAIN

    def taught(
        self,
        prompts: Sequence[str],
        sampling: Sampling,
        max_tokens: int,
        stop: Callable[[], bool] | None = None,
    ) -> Prepared:
        """The same after its warm-up (``learning.warm_up``); itself where it learns nothing."""
        learns = self.contender.learns
        if learns is None:
            return self
        runs = warm_up(
            self.model, self.constraint, prompts, sampling, learns.warm_up, max_tokens, stop
        )
        return replace(self, strategy=learns.learnt(self.model, self.constraint, runs))

    def start(
        self,
        prompt: str,
        sampling: Sampling,
        *,
        max_tokens: int,
        top: int = 8,
        stop: Callable[[], bool] | None = None,
        session: Session | None = None,
    ) -> Generation:
        """A run of it: iterate for steps. Raises: as ``generate``."""
        return generate(
            self.model,
            self.constraint,
            prompt,
            sampling,
            max_tokens=max_tokens,
            top=top,
            stop=stop,
            strategy=self.strategy,
            session=session,
        )


_ALL = (
    Contender(
        name=UNCONSTRAINED,
        title="the model alone: no mask",
        method="unconstrained",
        source="all of them compare with it",
    ),
    Contender(
        name="automaton",
        title="the exact mask: every token some accepted text goes on with",
        method="automaton",
        source=f"{_KOO}, Algorithms 1 to 3",
    ),
    Contender(
        name="skipping",
        title="the exact mask, and no pass of the model where nothing is left to choose",
        method="automaton",
        strategy="skipping",
        source=f"{_TRAN}, challenge 3",
    ),
    Contender(
        name="opportunistic",
        title="the exact mask, made only where the model's own choice is refused",
        method="automaton",
        strategy="opportunistic",
        source=f"{_DOMINO}, §3.5",
    ),
    Contender(
        name="speculation",
        title="the exact mask; tokens guessed from counts that also know up to four tokens before",
        method="automaton",
        strategy="speculation",
        learns=Guessing(memory=4, least=0.7),
        source=f"{_DOMINO}, §3.6, with longer contexts",
    ),
    Contender(
        name="draft",
        title="the exact mask; a draft of counted tokens proposes, the model accepts or refuses",
        method="automaton",
        strategy="speculation",
        learns=Drafts(),
        source=f"{_KOO}, §5.3",
    ),
    Contender(
        name="domino",
        title="subterminal trees pruned by a parser, lookahead k without end",
        method="domino",
        source=f"{_DOMINO}, §3",
    ),
    Contender(
        name="domino-1",
        title="subterminal trees, lookahead 1: a token may touch two terminals",
        method="domino",
        options={"k": 1},
        source=f"{_DOMINO}, §3.4, table 4",
    ),
    Contender(
        name="domino-0",
        title="subterminal trees, no lookahead: no token crosses the border of a terminal",
        method="domino",
        options={"k": 0},
        source=f"{_DOMINO}, §3.4, table 4",
    ),
    Contender(
        name="domino-opportunistic",
        title="subterminal trees; the model's own choice is looked up in them first",
        method="domino",
        strategy="opportunistic",
        source=f"{_DOMINO}, §3.5",
    ),
    Contender(
        name="domino-speculation",
        title="subterminal trees; up to 10 tokens guessed from counts, judged in one pass",
        method="domino",
        strategy="speculation",
        learns=Guessing(),
        source=f"{_DOMINO}, §3.6",
    ),
    Contender(
        name="online",
        title="every token put to a recogniser at every step",
        method="online",
        source=f"GCD, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="online-trie",
        title="a recogniser over the trie: tokens that begin alike are tested together",
        method="online",
        options={"how": "trie"},
        source=f"{_KOO}, §4.2",
    ),
    Contender(
        name="synchromesh",
        title="every token put to a completion engine: terminals an LALR(1) parser accepts",
        method="online",
        options={"how": "trie", "checker": "synchromesh"},
        source=f"Poesia et al. 2022, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="llama-cpp",
        title="stacks of what is still to be read; the model's own choice put to them first",
        method="online",
        options={"how": "trie", "checker": "llama.cpp"},
        strategy="opportunistic",
        source=f"llama.cpp, as in {_DOMINO}, §3.5 and table 1",
    ),
    Contender(
        name="gcd",
        title="every token put to an incremental chart parser",
        method="online",
        options={"how": "trie", "checker": "gcd"},
        source=f"Geng et al. 2023, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="picard",
        title="a recogniser asked about the 8 likeliest tokens; no other may come next",
        method="online",
        strategy="picard",
        source=f"Scholak et al. 2021, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="template",
        title="a program's fixed text inserted by the tokenizer, the model asked for the holes",
        method="template",
        strategy="skipping",
        program=True,
        source=f"GUIDANCE, as in {_DOMINO}, appendix A, listing 1",
    ),
    Contender(
        name="template-ws",
        title="what the grammar forces is inserted; white space is left to the model",
        method="template",
        strategy="skipping",
        source=f"GUIDANCE WS, as in {_DOMINO}, appendix A, listing 2",
    ),
    Contender(
        name="proper",
        title="only the tokens the tokenizer itself would write",
        method="proper",
        source=f"{_TRAN}, CartesianMerge",
    ),
    Contender(
        name="proper-skipping",
        title="proper tokens, and no pass of the model where one token is left",
        method="proper",
        strategy="skipping",
        source=f"{_TRAN}, challenge 3",
    ),
    Contender(
        name="outlines",
        title="an index from the states of a character machine to tokens; one regex",
        method="outlines",
        source=f"{_WILLARD}, Algorithms 3 and 4",
    ),
    Contender(
        name="lalr",
        title="an LALR(1) parser guiding terminal by terminal; no token crosses their borders",
        method="lalr",
        source=f"{_WILLARD}, the extension to grammars; {_KOO}, appendix A.1",
    ),
    Contender(
        name="lalr-shift",
        title="an LALR(1) parser that shifts where it is torn: some texts are lost",
        method="lalr",
        options={"conflicts": "shift"},
        source=f"{_WILLARD}, the extension to grammars, with lark's usual settings",
    ),
)

#: Every contender by its name, in the order tables have.
CONTENDERS: dict[str, Contender] = {contender.name: contender for contender in _ALL}


def chosen(names: str | Iterable[str]) -> tuple[Contender, ...]:
    """The contenders named, in the order named; a text holds names separated by commas.

    Raises: WorkbenchError for a name nobody knows, or no name at all.
    """
    asked: Sequence[str] = names.split(",") if isinstance(names, str) else list(names)
    wanted = dict.fromkeys(name.strip() for name in asked if name.strip())
    hint = f"choose from {', '.join(CONTENDERS)}"
    for name in wanted:
        if name not in CONTENDERS:
            raise WorkbenchError(f"there is no method {name!r} to compare", hint)
    if not wanted:
        raise WorkbenchError("expected at least one method", hint)
    return tuple(CONTENDERS[name] for name in wanted)
