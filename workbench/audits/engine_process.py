"""An engine that answers questions about its masks, in this process or in a separate one.

In a separate process, further folders of packages come after this interpreter's own packages.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from random import Random
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from workbench.audits.engines import AuditedEngine, adapter
from workbench.base.errors import WorkbenchError
from workbench.engines.answering import AnsweringProcess, limit_memory, serve
from workbench.engines.case import Case
from workbench.engines.peer import Compiled, Peer
from workbench.vocabulary.vocabulary import Vocabulary

#: Gigabytes of data that an engine may hold.
_MAX_GIGABYTES = 6

#: Tokens that the engine may add to finish a text, and how often it tries.
_MAX_ADDED, _MAX_TRIES = 80, 3

#: Tokens that finish JSON, in this order; then any other.
_CLOSING = (b'"', b"}", b"]", b"e", b"0", b":", b" ")


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The masks of an engine along tokens.

    Shape: ``masks`` (taken + 1, V) bool: before each token taken, and after the last.
    """

    masks: npt.NDArray[np.bool_]
    #: The tokens the engine accepted.
    taken: int


def first_tokens(name: str, count: int) -> Vocabulary:
    """The first tokens with text of a vocabulary, single bytes, and an end token.

    Raises: VocabularyError for an unknown name.
    """
    texts = [token for token in Vocabulary.load(name).tokens if token]
    singles = (bytes((byte,)) for byte in range(256))
    tokens: list[bytes | None] = [*dict.fromkeys([*texts[:count], *singles]), None]
    return Vocabulary(tokens, end=len(tokens) - 1, name=f"{name}, {count} tokens")


class MaskEngine(Protocol):
    """What the auditor asks of an engine."""

    def compile(self, case: Case) -> str | None:
        """Read a constraint; the reason if the engine refuses it, "" if it has no notation."""

    def walk(self, tokens: Sequence[int]) -> Walk:
        """The masks along tokens, up to the first one that is refused."""

    def accepts(self, texts: Sequence[str]) -> list[bool]:
        """Whether it accepts whole texts, read byte by byte."""

    def refused_at(self, text: str) -> int:
        """The bytes of a text before the first that a mask forbids; all, if only the end is."""

    def completed(self, tokens: Sequence[int], seed: int) -> list[int] | None:
        """The tokens with further ones of its masks up to an accepted text, if that succeeds."""

    def output(self, program: str) -> str:
        """What a program prints that uses the engine."""


class LocalEngine:
    """An engine in this process."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        vocabulary = peer.vocabulary
        self._size, self._end = len(vocabulary), peer.end
        ids_of = vocabulary.ids_of
        self._bytes = [ids_of[bytes((byte,))][0] for byte in range(256)]
        tokens = vocabulary.tokens
        first = [ids_of[token][0] for token in _CLOSING]
        short = (i for i, token in enumerate(tokens) if token is not None and len(token) <= 2)
        self._preferred = [*first, *(i for i in short if i not in first)]
        self._compiled: Compiled = None

    def compile(self, case: Case) -> str | None:
        try:
            compile_ = self._peer.compiler(case)
            if compile_ is None:
                return ""
            self._compiled = compile_()
            self._peer.start(self._compiled).mask()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # panics of Rust extensions derive from BaseException
            return f"{type(error).__name__}: {error}"[:300]
        return None

    def walk(self, tokens: Sequence[int]) -> Walk:
        walker = self._peer.start(self._compiled)
        masks, taken = [], 0
        for token in (*tokens, None):
            masks.append(self._mask(walker.mask))
            if token is None or not _advances(walker.advance, token):
                break
            taken += 1
        return Walk(np.stack(masks[: taken + 1]), taken)

    def accepts(self, texts: Sequence[str]) -> list[bool]:
        return [self._accepts(text) for text in texts]

    def _accepts(self, text: str) -> bool:
        walker = self._peer.start(self._compiled)
        if all(_advances(walker.advance, self._bytes[byte]) for byte in text.encode()):
            return bool(self._mask(walker.mask)[self._end])
        return False

    def refused_at(self, text: str) -> int:
        tokens = [self._bytes[byte] for byte in text.encode()]
        masks = self.walk(tokens).masks
        allowed = (mask[token] for mask, token in zip(masks, tokens, strict=False))
        return next((i for i, fits in enumerate(allowed) if not fits), len(masks[: len(tokens)]))

    def completed(self, tokens: Sequence[int], seed: int) -> list[int] | None:
        for number in range(_MAX_TRIES):
            completion = self._finish(tokens, Random(f"{seed} {number}"), shuffled=number > 0)
            if completion is not None:
                return completion
        return None

    def _finish(self, tokens: Sequence[int], random: Random, *, shuffled: bool) -> list[int] | None:
        walker, written = self._peer.start(self._compiled), list(tokens)
        if not all(_advances(walker.advance, token) for token in tokens):
            return None
        for _ in range(_MAX_ADDED):
            mask = self._mask(walker.mask)
            if mask[self._end]:
                return written
            fits = [token for token in self._preferred if mask[token]]
            if not fits:
                return None
            chosen = random.choice(fits[:3]) if shuffled else fits[0]
            if not _advances(walker.advance, chosen):
                return None
            written.append(chosen)
        return None

    def output(self, program: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(program, "reproduction", "exec"), {"__name__": "__main__"})
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                print(f"{type(error).__name__}: {error}"[:300])
        return printed.getvalue().strip()

    def _mask(self, compute: Any) -> npt.NDArray[np.bool_]:  # noqa: ANN401  # a Walker's function
        """The engine's mask; none where it computes none because the text has ended."""
        try:
            compute()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return np.zeros(self._size, np.bool_)
        packed = np.ascontiguousarray(self._peer.bits()).view(np.uint8)
        return np.unpackbits(packed, bitorder="little")[: self._size].astype(np.bool_)


def _advances(advance: Any, token: int) -> bool:  # noqa: ANN401  # a Walker's function
    try:
        return advance(token) is not False
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False


class EngineProcess:
    """An engine in a separate process, started when the first question is asked.

    Raises: EngineLostError from each question, and the next one starts a new process;
            WorkbenchError where the engine cannot be imported.
    """

    def __init__(
        self,
        engine: AuditedEngine,
        vocabulary: tuple[str, int],
        folders: Sequence[str] = (),
        patience: float = 30.0,
    ) -> None:
        """``vocabulary``: a name, and how many tokens of it; ``folders`` of further packages."""
        arguments = {"adapter": engine.adapter, "vocabulary": vocabulary, "folders": folders}
        self._process = AnsweringProcess(__name__, arguments, patience)

    def compile(self, case: Case) -> str | None:
        reason: str | None = self._ask("compile", case=asdict(case))
        return reason

    def walk(self, tokens: Sequence[int]) -> Walk:
        answer = self._ask("walk", tokens=[*tokens])
        packed = np.frombuffer(base64.b64decode(answer["masks"]), np.uint8)
        rows = packed.reshape(answer["taken"] + 1, -1)
        masks = np.unpackbits(rows, axis=1, bitorder="little")[:, : answer["size"]]
        return Walk(masks.astype(np.bool_), answer["taken"])

    def accepts(self, texts: Sequence[str]) -> list[bool]:
        accepted: list[bool] = self._ask("accepts", texts=[*texts])
        return accepted

    def refused_at(self, text: str) -> int:
        return int(self._ask("refused_at", text=text))

    def completed(self, tokens: Sequence[int], seed: int) -> list[int] | None:
        completion: list[int] | None = self._ask("completed", tokens=[*tokens], seed=seed)
        return completion

    def output(self, program: str) -> str:
        return str(self._ask("output", program=program))

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _ask(self, question: str, **fields: Any) -> Any:  # noqa: ANN401  # JSON values
        return self._process.ask({"question": question, **fields})


def _answer(local: LocalEngine, fields: dict[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
    """The answer to a question of ``EngineProcess``."""
    question = fields.pop("question")
    if question == "compile":
        fields["case"] = Case(**fields["case"])
    try:
        answer = getattr(local, question)(**fields)
    except WorkbenchError as error:
        return str(error)
    if isinstance(answer, Walk):
        packed = np.packbits(answer.masks, axis=1, bitorder="little")
        masks = base64.b64encode(packed.tobytes()).decode()
        return {"masks": masks, "taken": answer.taken, "size": answer.masks.shape[1]}
    return answer


def _serve(arguments: dict[str, Any]) -> None:
    """Answer the questions on stdin until it ends."""
    sys.path.extend(arguments["folders"])
    limit_memory(_MAX_GIGABYTES)
    local = LocalEngine(adapter(arguments["adapter"])(first_tokens(*arguments["vocabulary"])))
    serve(partial(_answer, local), arguments["alarm"])


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
