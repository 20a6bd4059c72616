"""An engine that answers questions about its masks, in this process or in a separate one.

A separate process can crash, hang or fill the memory without ending the audit; the interpreter is
this one, and further folders of packages come after its own packages. Questions and answers are
JSON, one a line.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.errors import WorkbenchError
from workbench.lab.audit.engines import AuditedEngine, adapter
from workbench.lab.bench.cases import Case
from workbench.lab.bench.peers.peer import Compiled, Peer
from workbench.vocabulary.vocabulary import Vocabulary

#: Gigabytes of data that an engine may hold.
_MAX_GIGABYTES = 6

#: Seconds in which a process has to import the engine.
_START_SECONDS = 120.0

#: Tokens that the engine may add to finish a text, and how often it tries.
_MAX_ADDED, _MAX_TRIES = 80, 3

#: Tokens that finish JSON, in this order; then any other.
_CLOSING = (b'"', b"}", b"]", b"e", b"0", b":", b" ")


class EngineLostError(Exception):
    """The process of an engine ended or did not answer; ``status`` says which."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


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
            found = self._finished(tokens, Random(f"{seed} {number}"), shuffled=number > 0)
            if found is not None:
                return found
        return None

    def _finished(
        self, tokens: Sequence[int], random: Random, *, shuffled: bool
    ) -> list[int] | None:
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

    Raises: EngineLostError from each question; the next one starts a new process.
    """

    def __init__(
        self,
        engine: AuditedEngine,
        vocabulary: tuple[str, int],
        folders: tuple[str, ...] = (),
        patience: float = 30.0,
    ) -> None:
        """``vocabulary``: a name, and how many tokens of it; ``folders`` of further packages."""
        self._arguments = json.dumps(
            {
                "adapter": engine.adapter,
                "vocabulary": vocabulary,
                "folders": folders,
                # it ends itself where nothing else does
                "alarm": int(patience) + 10,
            }
        )
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()

    def compile(self, case: Case) -> str | None:
        found: str | None = self._ask("compile", case=asdict(case))
        return found

    def walk(self, tokens: Sequence[int]) -> Walk:
        found = self._ask("walk", tokens=[*tokens])
        packed = np.frombuffer(base64.b64decode(found["masks"]), np.uint8)
        rows = packed.reshape(found["taken"] + 1, -1)
        masks = np.unpackbits(rows, axis=1, bitorder="little")[:, : found["size"]]
        return Walk(masks.astype(np.bool_), found["taken"])

    def accepts(self, texts: Sequence[str]) -> list[bool]:
        found: list[bool] = self._ask("accepts", texts=[*texts])
        return found

    def refused_at(self, text: str) -> int:
        return int(self._ask("refused_at", text=text))

    def completed(self, tokens: Sequence[int], seed: int) -> list[int] | None:
        found: list[int] | None = self._ask("completed", tokens=[*tokens], seed=seed)
        return found

    def output(self, program: str) -> str:
        return str(self._ask("output", program=program))

    def close(self) -> None:
        """End the process."""
        self._end()
        self._errors.close()

    def _end(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.kill()
            self._process.wait()
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process = None

    def _ask(self, question: str, **fields: Any) -> Any:  # noqa: ANN401  # JSON values
        try:
            process = self._process or self._started()
            assert process.stdin is not None
            process.stdin.write(json.dumps({"question": question, **fields}).encode() + b"\n")
            process.stdin.flush()
            return self._answer(self._patience)
        except (BrokenPipeError, EngineLostError) as error:
            crashed = self._process is not None and self._process.poll() is not None
            self._end()
            if isinstance(error, EngineLostError) and not crashed:
                raise
            raise EngineLostError("crashed", self._last_error()) from None

    def _answer(self, patience: float) -> Any:  # noqa: ANN401  # a JSON value
        try:
            while (line := self._lines.get(timeout=patience)) is not None:
                if line.startswith(b'{"answer"'):  # other lines are printed by libraries
                    return json.loads(line)["answer"]
        except queue.Empty:
            raise EngineLostError("timed out", f"no answer for {patience:g} s") from None
        raise EngineLostError("crashed", self._last_error())

    def _started(self) -> subprocess.Popen[bytes]:
        """A new process that has imported the engine."""
        self._lines = queue.SimpleQueue()
        self._errors.seek(0)
        self._errors.truncate()
        self._process = subprocess.Popen(
            (sys.executable, "-P", "-m", "workbench.lab.audit.engine_process", self._arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C ends the audit, which then ends this process
        )
        threading.Thread(target=_read, args=(self._process, self._lines), daemon=True).start()
        self._answer(_START_SECONDS)
        return self._process

    def _last_error(self) -> str:
        """The last line that the process wrote to stderr."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f"its process ended: {lines[-1][:200]}" if lines else "its process ended"


def _read(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            lines.put(line)
    lines.put(None)


def _serve(arguments: dict[str, Any]) -> None:
    """Answer the questions on stdin until it ends."""
    sys.path.extend(arguments["folders"])
    size = _MAX_GIGABYTES << 30
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    local = LocalEngine(adapter(arguments["adapter"])(first_tokens(*arguments["vocabulary"])))
    print(json.dumps({"answer": "ready"}), flush=True)
    for line in sys.stdin:
        signal.alarm(arguments["alarm"])  # ends the process, also inside the engine's own code
        fields = json.loads(line)
        question = fields.pop("question")
        if question == "compile":
            fields["case"] = Case(**fields["case"])
        try:
            answer = getattr(local, question)(**fields)
        except WorkbenchError as error:
            answer = str(error)
        if isinstance(answer, Walk):
            packed = np.packbits(answer.masks, axis=1, bitorder="little")
            masks = base64.b64encode(packed.tobytes()).decode()
            answer = {"masks": masks, "taken": answer.taken, "size": answer.masks.shape[1]}
        print(json.dumps({"answer": answer}), flush=True)
        signal.alarm(0)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
