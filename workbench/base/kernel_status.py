"""``Status``: why a kernel of a growing machine returned before it was done."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """What a kernel returns instead of a state or a number; its caller helps and calls again.

    Kernels see the members as constants; all are below ``DEAD`` and ``UNKNOWN``.
    """

    #: An array of a running network is full: sets of written elements, the steps between them, …
    FULL_WRITTEN = -18
    FULL_EXTENSIONS = -17
    #: … stacks, openings of states, …
    FULL_NODES = -15
    FULL_OPENINGS = -14
    #: … situations, their configurations, the configurations of the next situation.
    FULL_SITUATIONS = -13
    FULL_CONFIGURATIONS = -12
    FULL_FOUND = -11
    #: A step between two sets of written elements is missing.
    NEW_WRITTEN = -16
    #: There is no space for another set of NFA states.
    FULL_SETS = -10
    #: The clock must be checked.
    PAUSED = -9
    #: A stack has more symbols than the limits allow.
    TOO_DEEP = -8
