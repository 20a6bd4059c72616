"""Finite automata over bytes: construction, determinization, minimization, operations.

Each conversion is a function, in the module named after it; the types have no conversion methods.
The class ``Dfa`` itself is in ``base.dfa``. This package knows no vocabularies, no pushdown
automata and no drawing.

    regex tree ─ thompson ─→ program (regex_program) ─ program_nfa ─→ Nfa (nfa)
    Nfa ─ small_dfa | determinize + minimize ─→ smallest Dfa
    Nfa ─ lazy_dfa ─→ LazyDfa, determinized while texts are read
"""
