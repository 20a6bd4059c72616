"""Dataclasses become grammars: a class or its text in, rules and a way back to instances out.

::

    class ── reflect ──▶ Types ── definitions ──▶ text ─┐
    text ───────────────────────────────────────────────┴─ reading ──▶ Types, each at its place
    Types ──┬─ calls ─────▶ GrammarTree of constructor calls ── values, fitting ──▶ instance
            └─ as_schema ─▶ JSON Schema ── schema ──▶ GrammarTree ── json_values ──▶ instance

The two doors are in ``tree``::

    class_tree(cls: type, style: str = "call", limits: Limits = LIMITS) -> Typed
    text_tree(source: Source, style: str = "call", limits: Limits = LIMITS, root: str = "") -> Typed

    Typed.tree: GrammarTree          the rules; start symbol ``start``; ``tree.source`` is the text
    Typed.parse(text: str | bytes) -> object
                                    the instance an accepted text stands for
    Typed.types: Types               what was read

Text is read with ``ast`` and never executed; of texts that stand for instances, neither. Left
out: generic dataclasses, ``InitVar``, flags, dataclasses with an ``__init__`` of their own,
and types that Python does not write as a literal or a call of a dataclass (dates, decimals,
``Any``): each is refused at its place.

Source: Koo et al. 2024, §5.2.
"""
