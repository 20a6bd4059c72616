"""A regex tree becomes a machine over bytes: Thompson's NFA, subsets, the minimal DFA.

In comes a regex tree or an NFA; out comes an ``Nfa`` or a ``Dfa``. One arrow, one module: a
type does not know what it can become. Vocabularies, stacks and pictures are left to others.
"""
