"""Questions of a lesson: the options, the forms of an answer, the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.lessons.lesson import LessonError, Reply

#: What a reader answers: several options by number, or a text, or nothing that is either.
Answer = Sequence[int] | str

#: The longest text an answer may be.
LONGEST = 200

#: A number is right within one part in a hundred, where it is none that is counted.
_CLOSE = 0.01


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its options, or none where the answer is a text, and the check of an answer."""

    #: ``several`` of the options, or a ``text``, ``tokens`` or ``number`` to be typed.
    form: str
    options: tuple[str, ...]
    judge: Callable[[Answer], Reply]


def which(options: tuple[str, ...], right: set[int], why: Callable[[int], str]) -> Asked:
    """Several options, of which the engine says which are right, and why the others are not."""

    def judge(answer: Answer) -> Reply:
        chosen = _chosen(answer, len(options))
        wrong = sorted(chosen ^ right)
        if not wrong:
            return Reply(True, "Right.")
        notes = tuple((options[i], why(i)) for i in wrong if i in chosen)
        missing = len(right - chosen)
        told = []
        if notes:
            told.append(f"{len(notes)} of your choices {_is(len(notes))} not right")
        if missing:
            told.append(f"{missing} {'is' if missing == 1 else 'are'} missing")
        return Reply(False, "Not yet: " + ", and ".join(told) + ".", notes)

    return Asked("several", options, judge)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _chosen(answer: Answer, count: int) -> set[int]:
    if isinstance(answer, str) or any(type(i) is not int or not 0 <= i < count for i in answer):
        raise LessonError("expected some of the options")
    return set(answer)


def numbered(value: Callable[[], float], hint: str = "") -> Asked:
    """A number is to be typed; it is computed when an answer comes."""

    def judge(answer: Answer) -> Reply:
        right = value()
        try:
            said = float(text_of(answer).replace(",", ".").strip().removesuffix("%"))
        except ValueError:
            said = math.nan
        if not math.isfinite(said):
            return Reply(False, "Type a number.")
        exact = right == int(right)
        if said == right or (not exact and math.isclose(said, right, rel_tol=_CLOSE)):
            return Reply(True, f"Right: {_shown(right)}.")
        size = "Too many" if said > right else "Too few"
        if not exact:
            size = "Too much" if said > right else "Too little"
        return Reply(False, f"{size}. {hint}".strip())

    return Asked("number", (), judge)


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.2f}"


def text_of(answer: Answer) -> str:
    """An answer that is a text.

    Raises: LessonError for options, and for a text that is too long.
    """
    if not isinstance(answer, str) or len(answer) > LONGEST:
        raise LessonError(f"expected a text of at most {LONGEST} characters")
    return answer
