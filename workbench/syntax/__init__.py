"""Text becomes a tree: grammars in every notation of rules are read, each node keeping its place.

In comes a ``Source``; out comes a regex tree (``regex.tree``) or a grammar tree
(``grammar_tree``), or a ``ParseError`` with the place and a way out. Nothing here knows
automata, vocabularies or what a tree is later built into. A room a notation (``regex``,
``kbnf``, ``gbnf``, ``lark``); beside them what several of them read or write with.
"""
