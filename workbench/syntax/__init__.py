"""Text becomes a tree: regexes and KBNF grammars are read, each node keeping its place.

In comes a ``Source``; out comes a regex tree (``regex_tree``) or a grammar tree
(``grammar_tree``), or a ``ParseError`` with the place and a way out. Nothing here knows
automata, vocabularies or what a tree is later built into.
"""
