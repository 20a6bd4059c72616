"""Exactness: the engine's masks against a slow recogniser that shares nothing with it but the tree.

In come constraints and vocabularies; out comes how many (state, token) decisions were compared
and which were wrong. Left out: the parsers, which the test suite holds against Python's ``re``.
"""
