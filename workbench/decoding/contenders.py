"""Contenders: the decoding methods that comparisons run, by name.

A contender is a constraint method with options and a strategy. Some learn from warm-up runs first
(counts, or a count model as draft). ``template`` replaces the grammar by a fixed layout, as the
GUIDANCE programs that DOMINO compares with (appendix A, listing 1): keys, braces and white space
are fixed, the values are holes. For lists of any length the program is a grammar, since templates
have no loops.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import METHODS, CompileOptions
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint
from workbench.constraint.reasoning import Reasoning
from workbench.constraint.token_machine import TokenMachine
from workbench.decoding.adaptive_sampling import Asap, Cars
from workbench.decoding.candidates import milliseconds_since
from workbench.decoding.generate import Generation, generate
from workbench.decoding.model import CountModel, LanguageModel, Prompt, Session, context_of
from workbench.decoding.opportunistic_masking import OpportunisticMasking, Picard
from workbench.decoding.particles import Awrs, Particles
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CountProposer, DraftSpeculation
from workbench.decoding.strategy import PLAIN, JumpForward, Speculation, Strategy
from workbench.decoding.template import Template
from workbench.decoding.trace import Trace
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

#: DOMINO, listing 1, with the third item that its grammar (listing 7) requires and no comma after
#: it.
_RPG = """{{
    "id": {gen('id', regex='[1-9][0-9]*')},
    "description": "A nimble fighter",
    "name": "{gen('name', regex='[^\\n\\r"]+')}",
    "age": {gen('age', regex='[1-9][0-9]*')},
    "armor": "{select(['leather', 'chainmail', 'plate'])}",
    "weapon": "{select(['sword', 'axe', 'bow'])}",
    "class": "{gen('class', regex='[^\\n\\r"]+')}",
    "mantra": "{gen('mantra', regex='[^\\n\\r"]+')}",
    "strength": {gen('strength', regex='[1-9][0-9]*')},
    "items": [ "{gen('item', regex='[^\\n\\r"]+')}", "{gen('item', regex='[^\\n\\r"]+')}", \
"{gen('item', regex='[^\\n\\r"]+')}"]
}}"""

#: The worked problem laid out as listing 1 lays out its object.
_GSM8K = r"""start   ::= '{\n    "thoughts": [\n' thought (',\n' thought)* '\n    ],\n'
            '    "answer": ' number '\n}';
thought ::= '        {"step": "' text '", "calculation": "' text '", "result": ' number '}';
text    ::= #'[^"\\\\\n]*';
number  ::= #'-?(0|[1-9][0-9]*)(\\.[0-9]+)?';
"""

_XML = r"""start   ::= '<person>\n' body '</person>';
body    ::= '    <name>' text '</name>\n    <age>' text '</age>\n    <job>\n        <title>' text
            '</title>\n        <salary>' text '</salary>\n    </job>\n' friends?;
friends ::= '    <friends>\n' ('<person>\n' body '</person>')+ '\n    </friends>\n';
text    ::= #'[^<\n]+';
"""


#: By the name of the gallery's example.
_PROGRAMS: dict[str, Template | str] = {
    "domino_rpg": Template.parse(_RPG),
    "domino_gsm8k": _GSM8K,
    "domino_xml": _XML,
}


def program_of(grammar: Grammar, limits: Limits) -> Grammar:
    """The language of the template for a grammar: its texts in one fixed layout.

    Raises: WorkbenchError if there is no template for this grammar.
    """
    for name, program in () if grammar.is_rewritten else _PROGRAMS.items():
        if load_gallery()[name].text.rstrip() == grammar.source.text.rstrip():
            if isinstance(program, Template):
                return program.grammar
            return Grammar.from_kbnf(program, limits=limits, name="template")
    raise WorkbenchError(
        "there is no template for this grammar",
        f"there are templates for {', '.join(_PROGRAMS)}; template-ws takes any grammar",
    )


#: The strategies by the names that contenders use; a new one for each contender, since some learn.
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "plain": lambda: PLAIN,
    "speculation": lambda: PLAIN,  # until it has learnt from warm-up runs
    "skipping": JumpForward,
    "opportunistic": OpportunisticMasking,
    "picard": Picard,
    "asap": Asap,
    "cars": Cars,
    "awrs": Awrs,
    "particles": Particles,
}

#: The strategies that draw from fewer tokens than the mask allows.
NARROWER_STRATEGIES = frozenset({"picard"})

#: The strategies whose texts have the model's own distribution, given that a text is valid.
OWN_STRATEGIES = frozenset({"cars"})

#: The strategies whose distribution comes closer to the model's own with each forward pass.
CONVERGING_STRATEGIES = frozenset({"asap", "particles"})

#: The first seed of warm-up runs, far from the seeds of comparisons.
_WARM_UP_SEED = 1_000_000

#: A prompt and the run that followed it.
WarmUp = tuple[Prompt, Trace]


def warm_up(
    model: LanguageModel,
    constraint: Constraint,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    runs: int,
    max_tokens: int,
    stop: Callable[[], bool] | None = None,
) -> list[WarmUp]:
    """Plain runs on some prompts in turn, with separate seeds.

    The temperature is at least 1, also if the measured runs are greedy: otherwise the strategy
    would learn the greedy text of a prompt.

    Raises: as ``generate``.
    Source: DOMINO §4.3, 10 repetitions, after which the priors are fixed.
    """
    traces = []
    for number in range(runs):
        prompt = prompts[number % len(prompts)]
        drawn = replace(
            sampling, temperature=max(1.0, sampling.temperature), seed=_WARM_UP_SEED + number
        )
        run = generate(model, constraint, prompt, drawn, max_tokens=max_tokens, top=0, stop=stop)
        deque(run, maxlen=0)
        traces.append((prompt, run.trace))
    return traces


@dataclass(frozen=True, slots=True, kw_only=True)
class CountGuesses:
    """Proposals from counts, P(l | α, β); the text is the plain loop's.

    Source: DOMINO §3.6.
    """

    #: The most proposals in one pass; the paper's s.
    tokens: int = 10
    #: Proposals continue while all of them together are right with this probability.
    least: float = 0.3
    #: How many preceding tokens the counts depend on; the paper uses none.
    memory: int = 0
    warm_up: int = 10

    def learnt(
        self, model: LanguageModel, constraint: Constraint, runs: Sequence[WarmUp]
    ) -> Strategy:
        """The strategy, with fixed counts."""
        counts = CountProposer.learnt(constraint, [trace for _, trace in runs], self.memory)
        return Speculation(counts, self.tokens, self.least)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountDrafts:
    """Proposals from a count model with rejection sampling; the distribution is the target's.

    Source: Koo et al. 2024, §5.3.
    """

    tokens: int = 6
    #: How many preceding tokens the counts depend on.
    memory: int = 4
    warm_up: int = 10

    def learnt(
        self, model: LanguageModel, constraint: Constraint, runs: Sequence[WarmUp]
    ) -> Strategy:
        """The strategy; prompts are counted too, since texts repeat words of their prompts."""
        texts = [[*context_of(model, prompt), *trace.token_ids] for prompt, trace in runs]
        return DraftSpeculation(CountModel.learnt(model, texts, self.memory), self.tokens)


UNCONSTRAINED = "unconstrained"  # the baseline of all measures

_WILLARD = "Willard & Louf 2023"
_DOMINO = "Beurer-Kellner, Fischer & Vechev 2024 (DOMINO)"
_KOO = "Koo, Liu & He 2024"
_TRAN = "Tran-Thien 2024"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A decoding method, as the command line and the page name it."""

    name: str
    #: A short description.
    title: str
    #: A sentence, for tooltips.
    detail: str = ""
    #: The mask, one of ``METHODS``.
    method: str
    #: Options of the method.
    options: CompileOptions = field(default_factory=CompileOptions)
    #: One of ``STRATEGIES``; ``plain`` is one forward pass per token.
    strategy: str = "plain"
    #: Whether a hand-written template replaces the grammar.
    program: bool = False
    #: Whether every text must end in its budget (``WithinBudget``).
    finish: bool = False
    #: The most tokens of free text between <think> and </think> before the text; 0 for none.
    thinking: int = 0
    #: What the strategy learns from warm-up runs; None if it learns nothing.
    learns: CountGuesses | CountDrafts | None = None
    #: The paper and section that describe it.
    source: str

    def prepare(
        self, model: LanguageModel, grammar: Grammar, limits: Limits = LIMITS
    ) -> PreparedContender:
        """Compile the grammar for this method.

        Raises: WorkbenchError if the method does not apply to the grammar or the vocabulary;
                LimitError.
        """
        started = time.perf_counter()
        read = program_of(grammar, limits) if self.program else grammar
        constraint: TokenMachine = compile_grammar(
            read, model.vocabulary, self.method, limits, **self.options
        )
        if self.thinking:
            constraint = Reasoning(constraint, budget=self.thinking, limits=limits)
        if self.finish:
            constraint.engine().token_distances(limits)  # computed once, for all runs
        return PreparedContender(
            self, model, constraint, milliseconds_since(started), STRATEGIES[self.strategy]()
        )


@dataclass(frozen=True, slots=True, eq=False)
class PreparedContender:
    """A contender with a compiled grammar, ready to run on any prompt."""

    contender: Contender
    model: LanguageModel
    constraint: TokenMachine
    #: The milliseconds of the compilation.
    compile_ms: float
    strategy: Strategy = PLAIN

    def answer_in(self, trace: Trace) -> bytes:
        """The part of a text that the grammar describes: all of it, or what follows </think>."""
        return self.constraint.answer_in(trace.token_ids)

    def taught(
        self,
        prompts: Sequence[str],
        sampling: Sampling,
        max_tokens: int,
        stop: Callable[[], bool] | None = None,
    ) -> PreparedContender:
        """A copy that has learnt from warm-up runs (``warm_up``); itself if it learns nothing."""
        learns = self.contender.learns
        if learns is None:
            return self
        runs = warm_up(
            self.model, self.constraint, prompts, sampling, learns.warm_up, max_tokens, stop
        )
        return replace(self, strategy=learns.learnt(self.model, self.constraint, runs))

    def start(
        self,
        prompt: Prompt,
        sampling: Sampling,
        *,
        max_tokens: int,
        top: int = 8,
        stop: Callable[[], bool] | None = None,
        session: Session | None = None,
    ) -> Generation:
        """Start a run; iterate for steps. Raises: as ``generate``."""
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
            finish=self.contender.finish,
        )


_ALL = (
    Contender(
        name=UNCONSTRAINED,
        title="the model alone, no mask",
        method="unconstrained",
        source="the baseline",
    ),
    Contender(
        name="automaton",
        title="the exact mask",
        detail="The exact mask: a token is allowed if some accepted text continues with it",
        method="automaton",
        source=f"{_KOO}, Algorithms 1 to 3",
    ),
    Contender(
        name="finishing",
        title="exact mask; every text ends in its budget",
        detail="The exact mask without the tokens after which no text ends in the tokens left",
        method="automaton",
        finish=True,
        source="distances in tokens; TruncProof 2026 approximates them for LL(1)",
    ),
    Contender(
        name="thinking",
        title="free thoughts first, then the exact mask",
        detail="Up to 48 tokens of free text between <think> and </think>, then the exact mask",
        method="automaton",
        thinking=48,
        source="Banerjee et al. 2025 (CRANE); Willard & Louf 2023, §1",
    ),
    Contender(
        name="skipping",
        title="exact mask; forced tokens cost no pass",
        detail="The exact mask; the model is not run where only one token is allowed",
        method="automaton",
        strategy="skipping",
        source=f"{_TRAN}, challenge 3",
    ),
    Contender(
        name="opportunistic",
        title="exact mask, only where a choice is refused",
        detail="The exact mask, computed only where the token that the model chose is refused",
        method="automaton",
        strategy="opportunistic",
        source=f"{_DOMINO}, §3.5",
    ),
    Contender(
        name="speculation",
        title="exact mask; tokens guessed from counts",
        detail="The exact mask; guesses from counts of up to four tokens, checked in one pass",
        method="automaton",
        strategy="speculation",
        learns=CountGuesses(memory=4, least=0.7),
        source=f"{_DOMINO}, §3.6, with longer contexts",
    ),
    Contender(
        name="draft",
        title="exact mask; a count model drafts tokens",
        detail="The exact mask; a model of counted tokens proposes, the model checks in one pass",
        method="automaton",
        strategy="speculation",
        learns=CountDrafts(),
        source=f"{_KOO}, §5.3",
    ),
    Contender(
        name="asap",
        title="learns which prefixes valid texts follow",
        detail="Adaptive sampling with approximate expected futures: each further text is drawn "
        "closer to the model's own distribution",
        method="automaton",
        strategy="asap",
        source="Park et al. 2024 (ASAp)",
    ),
    Contender(
        name="cars",
        title="rejection: the model's own distribution",
        detail="Constrained adaptive rejection sampling: forbidden continuations are never drawn "
        "again, and each text has the model's own probability among the valid ones",
        method="automaton",
        strategy="cars",
        source="Parys et al. 2025 (CARS)",
    ),
    Contender(
        name="awrs",
        title="tests single tokens until one is allowed",
        detail="Adaptive weighted rejection sampling: no mask is computed; the text is that of the "
        "exact mask",
        method="automaton",
        strategy="awrs",
        source="Lipkin et al. 2025 (AWRS)",
    ),
    Contender(
        name="particles",
        title="eight weighted texts, one is drawn",
        detail="Sequential Monte Carlo: eight texts, weighted by what their masks kept, resampled;"
        " one is drawn by its weight",
        method="automaton",
        strategy="particles",
        source="Loula et al. 2025 (sequential Monte Carlo)",
    ),
    Contender(
        name="types",
        title="exact mask and types",
        detail="The exact mask, joined to a monitor: only programs that are well typed",
        method="automaton",
        options={"monitor": "types"},
        source="Mündler et al. 2025, type-constrained code generation",
    ),
    Contender(
        name="scope",
        title="exact mask and names in scope",
        detail="The exact mask, joined to a monitor: only declared names, in their blocks",
        method="automaton",
        options={"monitor": "scope"},
        source="Agrawal et al. 2023, monitor-guided decoding",
    ),
    Contender(
        name="domino",
        title="subterminal trees, unlimited lookahead",
        detail="Trees of subterminals, pruned by a parser, unlimited lookahead: the exact mask",
        method="domino",
        source=f"{_DOMINO}, §3",
    ),
    Contender(
        name="domino-1",
        title="subterminal trees, lookahead 1",
        detail="Trees of subterminals with lookahead 1: a token may touch two terminals",
        method="domino",
        options={"k": 1},
        source=f"{_DOMINO}, §3.4, table 4",
    ),
    Contender(
        name="domino-0",
        title="subterminal trees, lookahead 0",
        detail="Trees of subterminals without lookahead: no token crosses the border of a terminal",
        method="domino",
        options={"k": 0},
        source=f"{_DOMINO}, §3.4, table 4",
    ),
    Contender(
        name="domino-opportunistic",
        title="subterminal trees; model's choice first",
        detail="Trees of subterminals; the token that the model chose is looked up in them first",
        method="domino",
        strategy="opportunistic",
        source=f"{_DOMINO}, §3.5",
    ),
    Contender(
        name="domino-speculation",
        title="subterminal trees; guesses from counts",
        detail="Trees of subterminals; up to 10 tokens guessed from counts, checked in one pass",
        method="domino",
        strategy="speculation",
        learns=CountGuesses(),
        source=f"{_DOMINO}, §3.6",
    ),
    Contender(
        name="online",
        title="every token tested at every step",
        detail="Every token is tested by a recogniser at every step",
        method="online",
        source=f"GCD, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="online-trie",
        title="tokens tested along a trie",
        detail="A recogniser over the trie: tokens with the same beginning are tested together",
        method="online",
        options={"how": "trie"},
        source=f"{_KOO}, §4.2",
    ),
    Contender(
        name="synchromesh",
        title="LALR(1) completion engine",
        detail="Tokens tested by a completion engine: the terminals an LALR(1) parser accepts",
        method="online",
        options={"how": "trie", "checker": "synchromesh"},
        source=f"Poesia et al. 2022, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="llama-cpp",
        title="rule stacks; model's choice tested first",
        detail="Stacks of the grammar elements that remain; the model's choice is tested first",
        method="online",
        options={"how": "trie", "checker": "llama.cpp"},
        strategy="opportunistic",
        source=f"llama.cpp, as in {_DOMINO}, §3.5 and table 1",
    ),
    Contender(
        name="gcd",
        title="incremental chart parser",
        detail="Every token is tested by an incremental chart parser",
        method="online",
        options={"how": "trie", "checker": "gcd"},
        source=f"Geng et al. 2023, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="picard",
        title="only the 8 likeliest tokens are tested",
        detail="A recogniser tests the 8 likeliest tokens; no other token is allowed",
        method="online",
        strategy="picard",
        source=f"Scholak et al. 2021, as in {_DOMINO}, table 1",
    ),
    Contender(
        name="template",
        title="fixed text inserted, holes for the model",
        detail="A template's fixed text is inserted by the tokenizer; the model fills the holes",
        method="template",
        strategy="skipping",
        program=True,
        source=f"GUIDANCE, as in {_DOMINO}, appendix A, listing 1",
    ),
    Contender(
        name="template-ws",
        title="forced text inserted, white space free",
        detail="The tokenizer inserts what the grammar forces; the model chooses white space",
        method="template",
        strategy="skipping",
        source=f"GUIDANCE WS, as in {_DOMINO}, appendix A, listing 2",
    ),
    Contender(
        name="proper",
        title="only the tokenizer's own tokens",
        detail="Only sequences of tokens that the tokenizer itself would write",
        method="proper",
        source=f"{_TRAN}, CartesianMerge",
    ),
    Contender(
        name="proper-skipping",
        title="proper tokens; forced ones cost no pass",
        detail="Only tokens that the tokenizer itself would write; forced ones cost no model pass",
        method="proper",
        strategy="skipping",
        source=f"{_TRAN}, challenge 3",
    ),
    Contender(
        name="outlines",
        title="index from states to tokens; regex only",
        detail="An index from the states of one regex's character machine to tokens",
        method="outlines",
        source=f"{_WILLARD}, Algorithms 3 and 4",
    ),
    Contender(
        name="lalr",
        title="LALR(1) parser, terminal by terminal",
        detail="An LALR(1) parser, terminal by terminal; no token crosses the border of a terminal",
        method="lalr",
        source=f"{_WILLARD}, the extension to grammars; {_KOO}, appendix A.1",
    ),
    Contender(
        name="lalr-shift",
        title="the same; conflicts are shifted",
        detail="An LALR(1) parser that shifts where it could also reduce: some texts are lost",
        method="lalr",
        options={"conflicts": "shift"},
        source=f"{_WILLARD}, the extension to grammars, with lark's usual settings",
    ),
)


def all_contenders() -> dict[str, Contender]:
    """Every contender by its name, in the order of tables.

    A method without a contender above is one itself, with its default options.
    """
    used = {contender.method for contender in _ALL}
    others = (
        Contender(name=name, title=method.title, method=name, source=method.source)
        for name, method in METHODS.items()
        if name not in used and method.compared
    )
    return {contender.name: contender for contender in (*_ALL, *others)}


def contenders_named(names: str | Iterable[str]) -> tuple[Contender, ...]:
    """The contenders with these names, in this order; a string has names separated by commas.

    Raises: WorkbenchError for an unknown name, or no name.
    """
    given: Sequence[str] = names.split(",") if isinstance(names, str) else list(names)
    wanted = dict.fromkeys(name.strip() for name in given if name.strip())
    by_name = all_contenders()
    hint = f"choose from {', '.join(by_name)}"
    for name in wanted:
        if name not in by_name:
            raise WorkbenchError(f"there is no method {name!r} to compare", hint)
    if not wanted:
        raise WorkbenchError("expected at least one method", hint)
    return tuple(by_name[name] for name in wanted)
