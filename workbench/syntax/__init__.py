"""Parsers and printers of all notations.

A parser returns a regex tree (``regex.tree``) or a grammar tree (``grammar_tree``) in which every
node has its source span, or raises ``ParseError`` with a span and a hint. There is one package per
notation; the modules next to them are shared. Nothing here depends on automata or vocabularies.
"""
