"""Machines with a stack: a grammar tree to a network of rules, and to a textbook PDA.

A ``Network`` has each rule as a deterministic automaton over bytes and calls; a grammar that is
regular becomes a plain ``Dfa``. Vocabularies are unknown here.
"""
