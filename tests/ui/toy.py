"""A small model for tests of the page: every byte is a token, and it goes on as a sample does."""

from __future__ import annotations

import time
from collections.abc import Sequence

from workbench.app.ui.model_registry import ModelRoom
from workbench.decoding.model import Logits, ToyModel
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

SAMPLE = """A JSON file describing a person:
{"name": "Ada Lovelace", "tags": ["mathematics", ["poetry", "Byron"], 1815]}
The train leaves at half past two in the afternoon: 14:30
"""

_WORDS = (
    '{"', 'name', '":', ' "', '", "', 'tags', '": [', '"]', ']}', 'Ada', ' Love', 'lace', 'mat', 'emat',
    'ics', 'po', 'etry', 'By', 'ron', '18', '15', '14', '30', '20', ':3', 'the', ' a', 'an', 'er', 'in',
)  # fmt: skip


def toy_vocabulary(_: str = "") -> Vocabulary:
    """256 bytes, some bridge tokens, the end."""
    return _VOCABULARY


_TOKENS: tuple[bytes | None, ...] = (
    *(bytes([byte]) for byte in range(256)),
    *(word.encode() for word in _WORDS),
    None,
)
_VOCABULARY = Vocabulary(_TOKENS, end=len(_TOKENS) - 1, name="toy")


class Paced(ToyModel):
    """The small model at a real one's pace, so that a run can be stopped while it goes."""

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        time.sleep(0.01)
        return super().logits(token_ids)


def toy_room(kind: type[ToyModel] = ToyModel) -> ModelRoom:
    """A room with the small model in it."""
    return ModelRoom("toy", lambda _: kind(_VOCABULARY, SAMPLE), toy_vocabulary)
