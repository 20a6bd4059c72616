"""Parsers and printers of all notations: text to trees in which every node keeps its place.

The result is a regex tree (``regex.tree``), a grammar tree (``grammar_tree``) or a ``ParseError``
with a place and a hint. A package for each notation; the modules beside them are shared.
Automata and vocabularies are unknown here.
"""
