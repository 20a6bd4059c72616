"""Pushdown automata: from a grammar tree to a network of rules, and to a textbook PDA.

In a ``Network`` each rule is a deterministic automaton over bytes and calls; a regular grammar
becomes a plain ``Dfa``. This package knows no vocabularies.

    GrammarTree ─ cfg ─→ Cfg with a RuleProgram ─ build (recursion, compile_rules) ─→ Dfa | Network
    Network ─ runner (stepping) ─→ configurations of a text, byte by byte
    Network ─ textbook_pda ─→ Pda, for pictures and lessons

Elements in any order, such as properties, are marks in the network: ``phrase_rules``.
"""
