"""Dataclasses as grammars of their instances, and accepted texts as instances.

::

    class ── reflect ──▶ Types ── type_printer ──▶ text ─┐
    text ────────────────────────────────────────────────┴─ python_reader ──▶ Types with spans
    Types ──┬─ dataclass_grammar ─▶ GrammarTree of constructor calls ── instances ──▶ instance
            └─ type_printer ─▶ JSON Schema ── json_schema ──▶ GrammarTree ── instances ──▶ instance

``python_reader`` uses ``python_text`` (syntax, names, literals) and ``annotations``; ``types`` are
the records that all modules share. The entry is ``dataclass_grammar``::

    class_tree(cls: type, style: str = "call", limits: Limits = LIMITS) -> TypedGrammar
    text_tree(
        source: Source, style: str = "call", limits: Limits = LIMITS, root: str = ""
    ) -> TypedGrammar

    TypedGrammar.tree: GrammarTree   the rules; start symbol ``start``; ``tree.source`` is the text
    TypedGrammar.parse(text: str | bytes) -> object
                                     the instance that an accepted text denotes
    TypedGrammar.types: Types        the types

Definitions are parsed with ``ast``, instances with a regex lexer; neither is executed. Not
supported, each an error with its span: generic dataclasses, ``InitVar``, flags, dataclasses with a
custom ``__init__``, and types whose values are not written as literals or calls of dataclasses
(dates, decimals, ``Any``).

Source: Koo et al. 2024, §5.2.
"""
