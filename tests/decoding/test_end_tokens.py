"""Several end tokens are one event: runs equal those of one end token with their probability."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import workbench as wb
from tests.decoding.test_strategy import SETTINGS, Guessing
from tests.decoding.tiny import write_model
from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.constraint.compile import METHODS, compile
from workbench.constraint.unconstrained import Unconstrained
from workbench.decoding.exact_distribution import (
    masked_distribution,
    model_distribution,
    search_spellings,
    token_tree,
)
from workbench.decoding.forced_suffix import forced_suffix
from workbench.decoding.generate import Generation, generate
from workbench.decoding.logits_processor import LogitsProcessor
from workbench.decoding.measures import is_proper
from workbench.decoding.model import LanguageModel, Logits, StatelessSession, ToyModel
from workbench.decoding.opportunistic_masking import OpportunisticMasking, Picard
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CountProposer, CoupledSpeculation, DraftSpeculation
from workbench.decoding.strategy import PLAIN, JumpForward, Speculation, Strategy
from workbench.decoding.trace import Step, StopReason
from workbench.decoding.transformers_model import TransformersModel
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

TEXT = (b"a", b"b", b"c", b"ab", b"bc", b"abc")
#: The first one is not the lowest; 6 ends nothing.
ENDS = (8, 7, 9)
SPECIAL = range(6, 10)
TWO = Vocabulary((*TEXT, *[None] * 4), ENDS, special=SPECIAL)
ONE = Vocabulary((*TEXT, *[None] * 4), ENDS[0], special=SPECIAL)


@dataclass(frozen=True, eq=False)
class Summed:
    """A model whose one end token has the probability of all end tokens of another model."""

    model: LanguageModel
    vocabulary: Vocabulary = ONE
    name: str = "summed"

    def encode(self, text: str) -> list[TokenId]:
        return self.model.encode(text)

    def session(self) -> StatelessSession:
        return StatelessSession(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        found = self.model.session().logits(token_ids).astype(np.float64)
        total = math.log(sum(math.exp(found[i]) for i in ENDS))
        found[list(ENDS)] = -math.inf
        found[ENDS[0]] = total
        return found.astype(np.float32)


@dataclass(frozen=True, eq=False)
class Padded(ToyModel):
    """More rows than tokens, and end tokens as likely as others together."""

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        found = super().logits(token_ids)
        found[list(ENDS)] += 1
        return np.append(found, np.float32(0.5))


PATTERNS = ["(a|b)*c?", "(ab|c){0,3}", "(abc)+", "abcabc", "a?b?c?", "(a|b)abcab", "[abc]{3}"]


def strategies_of(model: LanguageModel, constraint: wb.Constraint) -> list[Strategy]:
    warm = generate(model, constraint, "a", Sampling(temperature=1.0, seed=3), max_tokens=8)
    list(warm)
    return [
        PLAIN, OpportunisticMasking(), JumpForward(), Picard(3), Picard(20),
        Speculation(Guessing(1)), Speculation(CountProposer.learnt(constraint, [warm.trace])),
        DraftSpeculation(model), CoupledSpeculation(model),
    ]  # fmt: skip


NUMBERS = ("logprob", "masked_logprob", "kept", "mask_bits")
SAME = ("index", "token_id", "token", "favourite_id", "rank", "masked_rank", "forward", "is_end",
        "forced", "intervened", "mask")  # fmt: skip


def same_step(one: Step, two: Step) -> None:
    assert [getattr(two, name) for name in SAME] == [getattr(one, name) for name in SAME]
    for name in NUMBERS:
        expected = pytest.approx(getattr(one, name), nan_ok=True, abs=1e-6)
        assert getattr(two, name) == expected, name
    for few, more in ((one.wanted, two.wanted), (one.allowed, two.allowed)):
        assert not {c.token_id for c in more} & {*ENDS[1:]}
        assert [c.token_id for c in more] == [c.token_id for c in few]
        assert [c.allowed for c in more] == [c.allowed for c in few]
        for name in ("probability", "masked_probability"):
            expected = pytest.approx([getattr(c, name) for c in few], nan_ok=True, abs=1e-6)
            assert [getattr(c, name) for c in more] == expected


@given(st.sampled_from(PATTERNS), SETTINGS, st.integers(0, 9), st.sampled_from([1, 4, 20]))
def test_runs_are_those_of_one_end_token_with_the_summed_probability(
    pattern: str, sampling: Sampling, seed: int, most: int
) -> None:
    grammar = wb.Grammar.from_regex(pattern)
    model = Padded(TWO, seed=seed)
    summed = Summed(model)
    one, two = compile(grammar, ONE), compile(grammar, TWO)
    for here, there in zip(strategies_of(summed, one), strategies_of(model, two), strict=True):
        runs: list[Generation] = [
            generate(m, c, "a", sampling, max_tokens=most, strategy=s, top=6)
            for m, c, s in ((summed, one, here), (model, two, there))
        ]
        expected, found = map(list, runs)
        assert len(found) == len(expected)
        for left, right in zip(expected, found, strict=True):
            same_step(left, right)
        assert runs[0].stop == runs[1].stop
        for left, right in zip(runs[0].scored_trace().steps, runs[1].scored_trace().steps,
                               strict=True):  # fmt: skip
            same_step(left, right)


def test_without_a_mask_runs_are_the_same_too() -> None:
    model = Padded(TWO, seed=4)
    for seed in range(20):
        runs = [
            generate(m, Unconstrained(m.vocabulary), "a", Sampling(temperature=2.0, seed=seed),
                     max_tokens=9, top=6)
            for m in (Summed(model), model)
        ]  # fmt: skip
        for left, right in zip(*map(list, runs), strict=True):
            same_step(left, right)


def logs(*chances: float) -> list[float]:
    return [math.log(p) if p else -math.inf for p in chances]


#                    a    b    c   ab   bc  abc   6   7    8    9
ENDING = TableModel(TWO, logs(0.3, 0.1, 0, 0, 0, 0, 0, 0.2, 0.15, 0.25))


def test_the_step_that_ends_a_text_has_the_sum() -> None:
    """The likeliest token is a, but the likeliest event is the end."""
    run = generate(ENDING, FiniteConstraint(TWO, [b"", b"a"]), [0])
    (step,) = run
    assert run.stop is StopReason.ACCEPTED
    assert (step.is_end, step.token_id, step.token) == (True, ENDS[0], b"")
    assert math.exp(step.logprob) == pytest.approx(0.6)
    assert math.exp(step.masked_logprob) == pytest.approx(0.6 / 0.9)
    assert step.kept == pytest.approx(0.9)
    assert (step.rank, step.masked_rank, len(step.mask)) == (1, 1, 2)
    assert [(c.token_id, c.allowed) for c in step.wanted[:3]] == [(8, True), (0, True), (1, False)]
    assert [c.token_id for c in step.allowed] == [8, 0]
    assert step.allowed[0].probability == pytest.approx(0.6)
    assert run.trace.perplexity_with_end == pytest.approx(1 / 0.6)


def test_a_text_that_must_end_needs_no_pass() -> None:
    for strategy in (PLAIN, JumpForward()):
        ENDING.asked.clear()
        run = generate(ENDING, FiniteConstraint(TWO, [b"a"]), [0], strategy=strategy)
        steps = list(run)
        assert [step.token_id for step in steps] == [0, 8]
        assert all(step.forced for step in steps)
        assert run.stop is StopReason.FORCED_END
        assert len(ENDING.asked) == (0 if strategy != PLAIN else 2)
    assert forced_suffix(FiniteConstraint(TWO, [b"a"]), b"") == (0, 8)


def test_given_tokens_may_be_any_end_token() -> None:
    constraint = FiniteConstraint(TWO, [b"a"])
    for end in ENDS:
        with pytest.raises(TokenNotAllowed, match="without the end token"):
            generate(ENDING, constraint, [0], prefix=[0, end])
    proper = Vocabulary((b"a", b"b", b"ab", None, None), (3, 4), [(b"a", b"b")])
    assert is_proper(proper, [2, 4]) is True
    assert is_proper(proper, [0, 1, 4]) is False


def test_error_a_model_with_other_end_tokens() -> None:
    with pytest.raises(VocabularyError, match="over the model's own vocabulary"):
        generate(ENDING, FiniteConstraint(ONE, [b"a"]), [0])


def test_exact_distributions_add_up_the_end_tokens() -> None:
    model = Padded(TWO, seed=2)
    texts = [b"", b"a", b"ab", b"abc"]
    trees = [
        token_tree(m, "a", FiniteConstraint(m.vocabulary, texts)) for m in (Summed(model), model)
    ]
    one, two = (model_distribution(tree) for tree in trees)
    assert two.probability == pytest.approx(one.probability)
    own = [
        masked_distribution(tree, FiniteConstraint(v, texts))
        for tree, v in zip(trees, (ONE, TWO), strict=True)
    ]
    assert own[1].probability == pytest.approx(own[0].probability)
    hits = 0
    for seed in range(300):
        run = generate(model, FiniteConstraint(TWO, texts), "a", Sampling(1.0, seed=seed), top=0)
        list(run)
        hits += run.trace.text == b""
    assert hits / 300 == pytest.approx(own[1].probability[b""], abs=4 * math.sqrt(0.25 / 300))


def test_no_tokenization_is_forbidden_by_further_end_tokens() -> None:
    exact, online = (
        compile(wb.Grammar.from_regex("a(b|bc)?"), TWO, m) for m in ("automaton", "online")
    )
    found = search_spellings(exact, online)
    assert (found.forbidden, found.complete) == (None, True)


def test_the_logits_processor_allows_every_end_token() -> None:
    """transformers draws each of them by itself, and stops at any of them."""
    processor = LogitsProcessor(compile(wb.Grammar.from_regex("ab?"), TWO))
    prompt = torch.tensor([[0], [1], [2]])
    scores = torch.zeros(3, len(TWO) + 2)

    def allowed(*rows: Sequence[int]) -> list[list[int]]:
        ids = torch.cat([prompt, torch.tensor(rows, dtype=torch.long).reshape(3, -1)], dim=1)
        return [torch.isfinite(row).nonzero().ravel().tolist() for row in processor(ids, scores)]

    assert allowed([], [], []) == [[0, 3]] * 3
    assert allowed([0], [3], [0]) == [[1, 7, 8, 9], [7, 8, 9], [1, 7, 8, 9]]
    assert allowed([0, 9], [3, 7], [0, 1]) == [[7, 8, 9]] * 3
    assert allowed([0, 9, 7], [3, 7, 7], [0, 1, 8]) == [[7, 8, 9]] * 3


@pytest.fixture(scope="module")
def two_ends(tmp_path_factory: pytest.TempPathFactory) -> TransformersModel:
    """A tiny model with a second end token, which its generation configuration names."""
    folder = write_model(tmp_path_factory.mktemp("ends"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    written = json.loads((folder / "tokenizer.json").read_text())
    written["pre_tokenizer"]["use_regex"] = False  # for the methods that merge all of a text
    turn = tokenizer.get_vocab_size()
    written["added_tokens"].append(written["added_tokens"][0] | {"id": turn, "content": "<turn>"})
    (folder / "tokenizer.json").write_text(json.dumps(written))
    ends = {"eos_token_id": [turn, 0, turn, 5, 99_999], "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(ends))
    return TransformersModel(str(folder), "cpu")


def test_a_checkpoint_names_its_end_tokens(two_ends: TransformersModel) -> None:
    end, turn = two_ends.vocabulary.ends
    assert (end, turn) == (0, len(two_ends.vocabulary) - 1)
    assert two_ends.vocabulary.tokens[turn] is None
    assert two_ends.vocabulary.tokens[5] is not None, "ordinary text, not an added token"


def test_direct_merge_refuses_a_tokenizer_that_reads_special_tokens_in_a_text(
    two_ends: TransformersModel,
) -> None:
    with pytest.raises(wb.VocabularyError, match="DirectMerge supports only merges"):
        compile(wb.Grammar.from_regex("one"), two_ends.vocabulary, "direct_merge")


@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"direct_merge"}))
def test_every_method_on_a_checkpoint(two_ends: TransformersModel, method: str) -> None:
    constraint = compile(wb.Grammar.from_regex("one( two)?|[a-z]{2}"), two_ends.vocabulary, method)
    run = generate(two_ends, constraint, "x", Sampling(temperature=1.0, seed=1), max_tokens=12)
    steps = list(run)
    if run.stop is not StopReason.TOKEN_BUDGET:
        assert steps[-1].is_end
        session, context = two_ends.session(), two_ends.encode("x")
        logits = session.logits([*context, *run.trace.token_ids[:-1]]).astype(np.float64)
        chances = np.exp(logits) / np.exp(logits).sum()
        expected = chances[list(two_ends.vocabulary.ends)].sum()
        assert math.exp(steps[-1].logprob) == pytest.approx(expected, rel=1e-5)


def test_transformers_stops_at_either(two_ends: TransformersModel) -> None:
    constraint = compile(wb.Grammar.from_regex("one|two|name"), two_ends.vocabulary)
    ids = torch.tensor([two_ends.encode("x")] * 40)
    module: Any = two_ends.module
    torch.manual_seed(0)
    rows = module.generate(
        ids, do_sample=True, temperature=3.0, max_new_tokens=9,
        logits_processor=[LogitsProcessor(constraint)],
        eos_token_id=list(two_ends.vocabulary.ends), pad_token_id=5,
    )[:, ids.shape[1] :].tolist()  # fmt: skip
    places = [min(row.index(end) for end in two_ends.vocabulary.ends if end in row) for row in rows]
    assert {row[i] for row, i in zip(rows, places, strict=True)} == {*two_ends.vocabulary.ends}
    texts = {
        two_ends.vocabulary.decode(row[:i]).decode() for row, i in zip(rows, places, strict=True)
    }
    assert texts <= {"one", "two", "name"}
