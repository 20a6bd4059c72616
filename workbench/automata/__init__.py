"""Finite automata over bytes: construction, determinization, minimization, operations.

Each conversion is a function in a module; types do not know what they can become. ``base.dfa``
holds the ``Dfa`` itself. Vocabularies, stacks and pictures are unknown here.
"""
