"""A grammar tree becomes a machine with a stack.

In comes a ``GrammarTree``; out comes a ``Network`` (each rule a deterministic automaton over
bytes and calls), or a plain ``Dfa`` where the grammar is regular in disguise, and the ``Pda``
of the textbooks for pictures. Beside these machines, which have forgotten where they were
written, ``places`` reads a text slowly and tells the pieces of the grammar that could read on.
Vocabularies are unknown here.
"""
