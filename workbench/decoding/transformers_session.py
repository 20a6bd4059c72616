"""Sessions of a transformers model: one cache of keys and values, and passes over several rows.

All sessions of a model keep their keys and values in the same preallocated buffers, each in a
separate row. A pass reads a range of rows in place; nothing is concatenated for a token (with 64
rows of 200 tokens of the embedded model a pass takes 37 ms so, and took 52 with concatenation).

A row in a batch gets the logits of a separate pass up to rounding: sums of floats are reordered.

A row stays when its session ends, until another session needs it. A context that begins like the
text of any row gets that part of its keys and values from there: a prompt of the last run, examples
that many prompts begin with, or a system message are read once.

Imported when the first model is loaded: it needs torch and transformers.
"""

from __future__ import annotations

import inspect
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from workbench.base.errors import ModelError
from workbench.base.locks import WorkLock
from workbench.decoding.checkpoint import (
    Ranges,
    attention_in,
    cache_argument,
    free_memory,
    rope_length_of,
)
from workbench.decoding.model import (
    ForwardPass,
    Logits,
    check_pass,
    common_prefix,
    model_failed,
)
from workbench.decoding.shared_passes import MAX_ROWS
from workbench.vocabulary.vocabulary import TokenId

#: The tokens of each text of a pass.
_Ids = list[list[TokenId]]

#: The most bytes of keys and values of all sessions; a single session may have more.
_MAX_CACHE_BYTES = 1 << 31
#: On a GPU they may have one of this many parts of the memory that the loaded model leaves free.
_GPU_PART = 4
#: Seconds after which the row of a session that asks for nothing may be given to another.
_IDLE_SECONDS = 1.0
#: The most positions without a token in a pass over rows of different lengths.
_MAX_PADDING = 32
#: The most tokens that a pass of several rows reads.
_MAX_NEW = 2048
#: The buffers shrink when less than one of this many rows is in use.
_SHRINK = 4
#: The fewest tokens for which a row has space.
_MIN_LENGTH = 64
#: The fewest tokens that are taken from another row, unless they are all that a pass need not read:
#: then a new text needs no separate pass (``_least_taken``). Reading fewer costs about one pass.
_MIN_COPIED = 32


@dataclass(slots=True, eq=False)
class _Request:
    """A request for the logits at the last positions of a session's context."""

    session: TransformersSession
    wanted: list[TokenId]
    last: int
    #: The result; None before the pass.
    rows: Logits | None = None
    error: Exception | None = None

    @property
    def space(self) -> int:
        """The tokens for which its row needs space: a row also has padding."""
        return len(self.wanted) + _MAX_PADDING

    @property
    def new(self) -> list[TokenId]:
        """The tokens that its pass reads: those without keys and values in its row."""
        return self.wanted[len(self.session.read) :]


@dataclass(slots=True, eq=False)
class _Row:
    """A row of the buffers, and the text whose keys and values it has."""

    index: int
    #: The session that got it last.
    owner: weakref.ref[TransformersSession] | None = None
    read: list[TokenId] = field(default_factory=list)
    #: The time of its last pass, by ``time.monotonic``.
    used: float = 0.0

    @property
    def session(self) -> TransformersSession | None:
        """The session that uses it; None if that one ended or lost it."""
        owner = None if self.owner is None else self.owner()
        return owner if owner is not None and owner.row is self else None


class TransformersSession:
    """A session: a row of the model's cache, which is cropped when the text changes."""

    def __init__(self, passes: TransformersPasses) -> None:
        #: Runs its passes, with those of other sessions of the model.
        self.shared_passes = passes
        #: The row in the cache; None if it has none, or it was given to another session.
        self.row: _Row | None = None
        #: The latest request: its thread, and its time by ``time.monotonic``.
        self.thread, self.used = 0, 0.0
        #: The last context, and the logits at its last positions.
        self.scored: tuple[list[TokenId], Logits] | None = None

    @property
    def read(self) -> list[TokenId]:
        """The tokens whose keys and values are cached."""
        return [] if self.row is None else self.row.read

    def another(self) -> TransformersSession:
        """A new session of the same model."""
        return self.shared_passes.session()

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after the whole sequence (rows,), see ``score``."""
        logits: Logits = self.score(token_ids, 1)[0]
        return logits

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """The logits after each of the ``last`` longest prefixes, in one forward pass.

        Shape:  (last, rows) float32.
        Raises: ModelError past the model's context, or if it fails.
        """
        result = self.shared_passes.score([ForwardPass(self, token_ids, last)])[0]
        if isinstance(result, ModelError):
            raise result
        return result


@dataclass(slots=True, eq=False)
class _Span:
    """The part of the buffers that a pass uses."""

    #: The first row, and the row after the last one.
    begin: int = 0
    end: int = 0
    #: The tokens cached before the pass, the most of all rows.
    known: int = 0
    #: The positions that the pass can look at.
    length: int = 0
    #: Where new keys are written, (new tokens,) indices of positions in all rows; None for one row,
    #: whose new positions follow the known ones.
    written: torch.Tensor | None = None


class _Layer(CacheLayerMixin):
    """The keys and values of one layer; all layers share the cache's span.

    Shape: (rows, length, heads, dimension), so that a token's values are contiguous.
    """

    def __init__(self, cache: KeyValueCache) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._cache = cache

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Implements ``CacheLayerMixin``."""
        self.keys, self.values = (self._cache.buffer(s) for s in (key_states, value_states))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store the new keys and values, (rows, heads, new, dimension); returns all of the rows."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        return self._store(self.keys, key_states), self._store(self.values, value_states)

    def _store(self, buffer: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        span, new = self._cache.span, states.transpose(1, 2)
        if span.written is None:
            buffer[span.begin : span.end, span.known : span.length] = new
        else:
            flat = buffer.view(-1, buffer.shape[2] * buffer.shape[3])
            flat.index_copy_(0, span.written, new.reshape(len(span.written), -1))
        return buffer[span.begin : span.end, : span.length].transpose(1, 2)

    def get_seq_length(self) -> int:
        """Implements ``CacheLayerMixin``."""
        return self._cache.span.known

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Implements ``CacheLayerMixin``."""
        return self._cache.span.length, 0

    def get_max_length(self) -> int:
        """Implements ``CacheLayerMixin``."""
        return -1


class KeyValueCache:
    """The keys and values of many sessions, each in one row of the same buffers.

    Buffers grow when sessions or tokens need it, up to ``_MAX_CACHE_BYTES`` or a part of a GPU's
    memory. Then a new session gets the row of an idle one, which reads its text again when it
    continues, or it waits. Rows of ended sessions stay where the buffers have space for them.

    ``rope_length``  past this length the model rotates all keys in another way (transformers' rope
                     types "longrope" and "dynamic"), so a context has to be read again, or None.
    ``device``       where the model is.
    """

    def __init__(self, rope_length: int | None, device: str) -> None:
        self._rope_length = rope_length
        gpu = free_memory(device) if device.startswith("cuda") else None
        self._gpu_bytes = (gpu or 0) // _GPU_PART
        self.span = _Span()
        layer: Any = partial(_Layer, self)  # annotated as a class
        #: What transformers reads and writes.
        self.layers: Any = Cache(layer_class_to_replicate=layer)
        #: By index.
        self._rows: list[_Row] = []
        #: The rows of the buffers, and the tokens for which each has space.
        self._size, self._length = 0, 0
        #: The tokens for which the admitted sessions of the next pass need space.
        self._promised = 0

    def buffer(self, states: torch.Tensor) -> torch.Tensor:
        """A buffer for keys or values like these; zeros, because a masked NaN would count."""
        _, heads, _, dimension = states.shape
        return states.new_zeros((self._size, self._length, heads, dimension))

    @property
    def is_new(self) -> bool:
        """Whether no pass has shown how many bytes a token takes."""
        return next(self.buffers(), None) is None

    def admit(
        self,
        request: _Request,
        kept: Collection[TransformersSession],
        *,
        only_idle: bool = True,
    ) -> bool:
        """Give a request's session a row with space for its text; False if there is no space now.

        ``kept``       the sessions whose rows may not be given away.
        ``only_idle``  whether the rows of sessions that were used in the last second stay too.
        """
        session, length = request.session, request.space
        if session.row is not None and length <= self._length:
            return True
        live = [other for other in self.live() if other is not session]
        while len(live) >= self.most_rows(
            max(length, self._promised, *(len(other.read) for other in live))
        ):
            free = [
                other
                for other in live
                if other not in kept and (not only_idle or _is_idle(other, session))
            ]
            if not free:
                return False
            oldest = min(free, key=lambda other: other.used)
            oldest.row = None
            live.remove(oldest)
        self._promised = max(length, self._promised)
        if session.row is None:
            session.row = self._free_row(request.wanted)
            session.row.owner = weakref.ref(session)
        return True

    def _free_row(self, wanted: list[TokenId]) -> _Row:
        """A row without a session: the one that begins like this text, a new or the oldest one."""
        free = [row for row in self._rows if row.session is None]
        shared = {row.index: self.shared(row, wanted) for row in free}
        best = max(free, key=lambda row: shared[row.index], default=None)
        if best is not None and shared[best.index] >= _least_taken(len(wanted) - 1):
            return best
        if free and len(self._rows) >= self._size:
            return min(free, key=lambda row: row.used)
        self._rows.append(_Row(len(self._rows)))
        return self._rows[-1]

    def shared(self, row: _Row, wanted: list[TokenId]) -> int:
        """How many of a row's keys and values are those of a text."""
        longest = max(len(row.read), len(wanted))
        if self._rope_length is not None and longest > self._rope_length:
            return 0
        return common_prefix(row.read, wanted)

    def source(self, request: _Request) -> tuple[_Row | None, int]:
        """The row that has the beginning of a request's text, and how many tokens of it.

        Another row than the session's if it has ``_MIN_COPIED`` tokens more, or all of a new text.
        """
        best_row, most = request.session.row, len(request.wanted) - request.last
        count = 0 if best_row is None else min(self.shared(best_row, request.wanted), most)
        least = _MIN_COPIED if count else _least_taken(most)
        if most - count >= least:
            for row in self._rows:
                shared = min(self.shared(row, request.wanted), most)
                if shared - count >= least:
                    best_row, count = row, shared
        return best_row, count

    def forget(self, row: _Row) -> None:
        """Forget a row's text; zeros, because a masked NaN would count in later passes."""
        row.read = []
        for buffer in self.buffers():
            buffer[row.index].zero_()

    def live(self) -> list[TransformersSession]:
        """The sessions that have a row."""
        return [session for row in self._rows if (session := row.session) is not None]

    def most_rows(self, length: int) -> int:
        """The most rows of this length; one fits always, or its pass fails.

        One before the first pass, which shows how many bytes a token takes.
        """
        if self.is_new:
            return 1
        bytes_per_token = sum(
            buffer[0, 0].numel() * buffer.element_size() for buffer in self.buffers()
        )
        most = max(_MAX_CACHE_BYTES, self._gpu_bytes) // (1 + bytes_per_token * _round_up(length))
        return max(1, min(MAX_ROWS, most))

    def buffers(self) -> Iterator[torch.Tensor]:
        """The keys and the values of each layer; none before the first pass."""
        for layer in self._used_layers():
            yield from (layer.keys, layer.values)

    def _used_layers(self) -> list[Any]:
        """The layers that have buffers; others get theirs in their first pass."""
        return [layer for layer in self.layers.layers if layer.is_initialized]

    def prepare(self, requests: Sequence[_Request]) -> None:
        """Make space for a pass over the requests' rows, which then follow each other.

        Each row then has the part of its text that is not read again.

        Raises: RuntimeError without memory. Then, and after an interruption, no session has a row.
        """
        try:
            self._prepare(requests)
        except BaseException:
            self.clear()
            raise

    def _prepare(self, requests: Sequence[_Request]) -> None:
        length = max(request.space for request in requests)
        small = len(self._rows) > self._size or length > self._length
        if small or len(self.live()) * _SHRINK < self._size:
            self._resize(length)
        self._promised = 0
        for request in requests:
            self._copy(*self.source(request), _row(request.session))
        for request in requests:
            row, most = _row(request.session), len(request.wanted) - request.last
            row.read = row.read[: min(self.shared(row, request.wanted), most)]
        rows = sorted(_row(request.session).index for request in requests)
        if rows[-1] - rows[0] >= len(rows):
            rows = self._bring_together([request.session for request in requests], rows)
        self.span.begin, self.span.end = rows[0], rows[-1] + 1

    def _copy(self, source: _Row | None, count: int, row: _Row) -> None:
        """Copy the keys and values of the first tokens of another row."""
        if source is None or source is row:
            return
        for buffer in self.buffers():
            buffer[row.index, :count] = buffer[source.index, :count]
        row.read = source.read[:count]

    def places(self, rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The places of tokens at these positions of the span's rows, as ``_Span.written``."""
        return (self.span.begin + rows) * self._length + positions

    def _resize(self, length: int) -> None:
        """Copy the rows of all live sessions to buffers of the size that is needed.

        Rows without a session are copied too if there is space, the last used ones first.
        """
        live = self.live()
        length = max(length, *(len(session.read) for session in live))
        size = min(1 << (len(live) - 1).bit_length(), self.most_rows(length))
        self._size, self._length = max(size, len(live)), _round_up(length)
        used = [_row(session) for session in live]
        free = [row for row in self._rows if row not in used]
        rows = [*used, *sorted(free, key=lambda row: -row.used)][: self._size]
        for row in rows:
            row.read = row.read[: self._length]
        for layer in self._used_layers():
            layer.keys = self._resize_buffer(layer.keys, rows)
            layer.values = self._resize_buffer(layer.values, rows)
        for index, row in enumerate(rows):
            row.index = index
        self._rows = rows

    def _resize_buffer(self, old: torch.Tensor, rows: Sequence[_Row]) -> torch.Tensor:
        new = old.new_zeros((self._size, self._length, *old.shape[2:]))
        for index, row in enumerate(rows):
            if row.read:
                new[index, : len(row.read)] = old[row.index, : len(row.read)]
        return new

    def _bring_together(
        self, sessions: Sequence[TransformersSession], rows: list[int]
    ) -> list[int]:
        """Exchange rows until those of the sessions follow each other; returns their indices."""
        count = len(rows)
        begin = max(
            range(len(self._rows) - count + 1),
            key=lambda first: sum(first <= row < first + count for row in rows),
        )
        free = iter(sorted(set(range(begin, begin + count)) - set(rows)))
        for session in sessions:
            row = _row(session)
            if begin <= row.index < begin + count:
                continue
            other = self._rows[next(free)]
            for buffer in self.buffers():
                buffer[[row.index, other.index]] = buffer[[other.index, row.index]]
            row.index, other.index = other.index, row.index
            self._rows[row.index], self._rows[other.index] = row, other
        return list(range(begin, begin + count))

    def clear(self) -> None:
        """Forget all texts and release the memory."""
        for session in self.live():
            session.row = None
        self.layers.layers.clear()
        self._rows.clear()
        self._size = self._length = self._promised = 0


def _row(session: TransformersSession) -> _Row:
    assert session.row is not None
    return session.row


def _least_taken(most: int) -> int:
    """The fewest tokens that a new text takes from another row, where it can take ``most``."""
    return max(1, min(_MIN_COPIED, most))


def _round_up(length: int) -> int:
    """The next power of two, so that a growing text seldom moves."""
    return max(_MIN_LENGTH, 1 << (length - 1).bit_length())


def _is_idle(session: TransformersSession, asking: TransformersSession) -> bool:
    """Whether a session's row may be given to another one that asks."""
    return session.thread == asking.thread or time.monotonic() - session.used > _IDLE_SECONDS


def _shares(request: _Request, cached: int, other: _Request) -> bool:
    """Whether a request can take more of its text from another one's row after that one's pass."""
    return (
        len(request.wanted) - cached > _MIN_COPIED
        and common_prefix(request.wanted, other.wanted) - cached >= _MIN_COPIED
    )


class TransformersPasses:
    """Runs the forward passes of all sessions of one model.

    The requests of one call share passes if the model supports rows of different lengths: if it
    takes a mask for each row (transformers' attention interface), has no recurrent state, and the
    rows are not longer than its attention window. Others have a pass each. Calls of several threads
    follow one another.
    """

    def __init__(self, module: torch.nn.Module, rows: int, context_length: int | None) -> None:
        #: The rows of the logits.
        self.rows = rows
        #: The most tokens of a context, None if unknown.
        self.context_length = context_length
        self._lock = WorkLock()
        untyped: Any = module
        self._module = untyped
        self._cache_argument = cache_argument(module)
        parameters = inspect.signature(module.forward).parameters
        #: Whether the model can compute logits of the last positions only.
        self._keeps = "logits_to_keep" in parameters
        #: Recurrent models have a state that cannot be cropped, and read the whole context again.
        self._croppable = not getattr(module, "_is_stateful", False)
        config = untyped.config.get_text_config()
        rope_length = rope_length_of(config)
        self._cache = KeyValueCache(rope_length, str(untyped.device))
        #: Up to this many tokens a row can share a pass; 0 for none.
        self._longest_shared = 0
        attention = config._attn_implementation
        #: Whether attention can be given the ranges of texts that are read as one; and whether a
        #: pass showed it.
        self._takes_ranges, self._took_ranges = attention == "sdpa", False
        backend = getattr(module, "_supports_attention_backend", False)
        if self._croppable and backend and attention in ("sdpa", "eager"):
            windows = (getattr(config, n, None) for n in ("sliding_window", "attention_chunk_size"))
            self._longest_shared = min(filter(None, [*windows, rope_length]), default=1 << 62)

    def session(self) -> TransformersSession:
        """A new session with an empty cache."""
        return TransformersSession(self)

    def forget(self) -> None:
        """Release the cache; call it between passes. Sessions read their texts again.

        Sums depend on its size in their last digits: equal work gives equal logits after this.
        """
        self._cache.clear()

    def score(self, passes: Sequence[ForwardPass]) -> list[Logits | ModelError]:
        """The logits after each of the last prefixes of each context, in shared passes.

        Shape: for each context (last, rows) float32, or its error.
        """
        requests = [self._request(each) for each in passes]
        asked = [request for request in requests if request.rows is None and request.error is None]
        self._answer(asked)
        for request in asked:
            if request.rows is not None:
                request.session.scored = request.wanted, request.rows
                request.rows.flags.writeable = False  # the session returns them again
        return [model_failed(each.error) if each.rows is None else each.rows for each in requests]

    def _answer(self, waiting: Sequence[_Request]) -> None:
        """Answer requests, in as few passes as can be shared."""
        thread, now = threading.get_ident(), time.monotonic()
        for session in [request.session for request in waiting]:
            session.scored, session.thread, session.used = None, thread, now
        with self._lock:
            while waiting:
                self._run(chosen := self._choose(waiting))
                waiting = [request for request in waiting if request not in chosen]

    def _request(self, forward: ForwardPass) -> _Request:
        """A request; answered already if it is wrong, or the session's last pass was the same."""
        session, wanted = forward.session, list(forward.token_ids)
        assert isinstance(session, TransformersSession)
        request = _Request(session, wanted, forward.last)
        try:
            check_pass(wanted, forward.last, self.rows, self.context_length)
        except ModelError as error:
            request.error = error
        else:
            if session.scored is not None and session.scored[0] == wanted:
                rows = session.scored[1]
                request.rows = rows[-forward.last :] if len(rows) >= forward.last else None
        return request

    def most_rows(self, tokens: int) -> int:
        """How many contexts of this length the cache has space for, at least one."""
        longest = tokens if self.context_length is None else min(tokens, self.context_length)
        return self._cache.most_rows(longest + _MAX_PADDING)

    def _choose(self, waiting: Sequence[_Request]) -> list[_Request]:
        """The requests of the next pass: the oldest for which there is space, and similar ones."""
        chosen, news = list[_Request](), list[int]()
        sessions = {each.session for each in waiting}
        for request in waiting:
            length, session = len(request.wanted), request.session
            if chosen and length > self._longest_shared:
                continue
            _, cached = self._cache.source(request)
            if chosen and not self._can_share([*news, length - cached]):
                continue
            if any(session is other.session or _shares(request, cached, other) for other in chosen):
                continue
            if not self._croppable or self._cache.admit(request, sessions):
                chosen.append(request)
                news.append(length - cached)
                if length > self._longest_shared or len(chosen) == MAX_ROWS or self._cache.is_new:
                    break
        if not chosen and self._cache.admit(waiting[0], [waiting[0].session], only_idle=False):
            chosen.append(waiting[0])  # no row is idle: the oldest request gets one
        return chosen

    def _can_share(self, news: Sequence[int]) -> bool:
        """Whether rows with these numbers of new tokens can share a pass."""
        padding = 0 if self._takes_ranges else max(news) * len(news) - sum(news)
        return padding <= _MAX_PADDING and sum(news) + padding <= _MAX_NEW

    def _run(self, chosen: Sequence[_Request]) -> None:
        """Answer the requests in one pass; if it fails, each in a separate pass."""
        try:
            with torch.inference_mode():
                self._forward(chosen)
        except Exception as error:
            if len(chosen) > 1:
                for request in chosen:
                    self._run([request])
                return
            if chosen[0].session.row is not None:
                chosen[0].session.row.read = []
            chosen[0].error = error

    def _forward(self, chosen: Sequence[_Request]) -> None:
        """One pass over the tokens that are not cached."""
        if not self._croppable:
            for request in chosen:
                rows = self._logits([request.wanted], request.last, use_cache=False)
                request.rows = rows[0].copy()
            return
        sessions = [request.session for request in chosen]
        for request in chosen:
            if request.session.row is None:  # the memory was cleared after it was admitted
                self._cache.admit(request, sessions, only_idle=False)
        self._cache.prepare(chosen)
        if len(chosen) > 1 and not self._can_share([len(request.new) for request in chosen]):
            # a row to be copied was dropped or replaced
            for request in chosen:
                self._forward([request])
            return
        chosen = sorted(chosen, key=lambda request: _row(request.session).index)
        if len(chosen) == 1:
            self._alone(chosen[0])
        else:
            self._together(chosen)
        for request in chosen:
            row = _row(request.session)
            if request.rows is not None and np.isnan(request.rows[-1].max()):
                self._cache.forget(row)
            else:
                row.read, row.used = request.wanted, time.monotonic()

    def _alone(self, request: _Request) -> None:
        span, cached = self._cache.span, len(request.session.read)
        span.known, span.length, span.written = cached, len(request.wanted), None
        new = request.wanted[cached:]
        request.rows = self._logits([new], request.last)[0]

    def _together(self, chosen: Sequence[_Request]) -> None:
        """Rows of different lengths: all new tokens as those of one text, or padded on the right.

        A model whose attention ignores the ranges fails in its first pass with them, since queries
        and mask have other shapes. From then on its rows are padded.
        """
        span, news = self._cache.span, [request.new for request in chosen]
        lengths = [len(request.session.read) for request in chosen]
        span.known, span.length = max(lengths), max(len(request.wanted) for request in chosen)
        width = max(map(len, news))
        joined = self._takes_ranges and min(map(len, news)) < width
        read = news if joined else [new + [0] * (width - len(new)) for new in news]
        ranges = Ranges.of(lengths, list(map(len, read)), span.length, self._module)
        span.written = self._cache.places(ranges.rows, ranges.positions)
        if not joined:
            self._run_padded(chosen, read, ranges)
            return
        self._takes_ranges = self._took_ranges  # unless this pass ends well
        self._run_joined(chosen, read, ranges)
        self._takes_ranges = self._took_ranges = True

    def _run_padded(self, chosen: Sequence[_Request], read: _Ids, ranges: Ranges) -> None:
        width = len(read[0])
        last = width - min(len(request.new) - request.last for request in chosen)
        positions = ranges.positions.view(len(read), width)
        if self.context_length is not None:
            positions = positions.clamp(max=self.context_length - 1)  # of the padding
        logits = self._logits(read, last, attention_mask=ranges.mask, position_ids=positions)
        for row, request in zip(logits, chosen, strict=True):
            end = last - width + len(request.new)
            request.rows = row[end - request.last : end].copy()

    def _run_joined(self, chosen: Sequence[_Request], read: _Ids, ranges: Ranges) -> None:
        ends = zip(accumulate(map(len, read)), chosen, strict=True)
        kept = torch.cat([torch.arange(end - request.last, end) for end, request in ends])
        options = {"attention_mask": ranges.mask, "position_ids": ranges.positions[None]}
        with attention_in(ranges):
            logits = self._logits([list(chain(*read))], kept.to(self._module.device), **options)
        for end, request in zip(accumulate(each.last for each in chosen), chosen, strict=True):
            request.rows = logits[0, end - request.last : end].copy()

    def _logits(self, ids: _Ids, kept: int | torch.Tensor, **options: object) -> Logits:
        """The logits at some positions of each row, or the last ones (rows, kept, V or more)."""
        if self._keeps:
            options["logits_to_keep"] = kept
        if options.setdefault("use_cache", True):
            options[self._cache_argument] = self._cache.layers
        out = self._module(input_ids=torch.tensor(ids, device=self._module.device), **options)
        logits = out.logits
        if isinstance(kept, int) or logits.shape[1] != len(kept):  # it may have all positions
            logits = logits[:, slice(-kept, None) if isinstance(kept, int) else kept]
        rows: Logits = logits.float().cpu().numpy()
        return rows
