"""Formats that are read narrower than they are: in come sets with doubts, out come theirs together.

Of a set of strings of which fewer are read than the specification has, ``Values.texts`` are those
that surely belong, and ``Values.unsure`` holds all that may. What is left out of such a set is only
what is in neither, so that nothing is accepted which the specification forbids.
"""

from __future__ import annotations

from workbench.schema.algebra.names import either, nobody, others
from workbench.schema.refusals import Untold
from workbench.schema.strings.texts import Texts
from workbench.schema.values import Values


def widest(values: Values) -> Texts:
    """The strings that may belong to a set."""
    return values.texts if nobody(values.unsure) else either(values.texts, values.unsure)


def of_both(left: Values, right: Values) -> Texts:
    """The strings of which it is not known whether both sets have them."""
    if nobody(left.unsure) and nobody(right.unsure):
        return left.unsure
    return either(left.unsure & widest(right), right.unsure & widest(left))


def of_the_rest(values: Values) -> Texts:
    """The strings of which it is not known whether they are in the complement of a set."""
    return values.unsure if nobody(values.unsure) else values.unsure & others(values.texts)


def outside(texts: Texts, unsure: Texts) -> Texts:
    """The strings that surely do not belong to a set.

    Raises: Untold where that is known of none.
    """
    if nobody(unsure):
        return others(texts)
    found = others(either(texts, unsure))
    if nobody(found):
        why = (
            "of a format in it fewer strings are read than it has: what it leaves out is not known"
        )
        raise Untold(why)
    return found
