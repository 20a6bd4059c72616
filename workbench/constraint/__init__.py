"""Constraints: masks and states from a machine and a vocabulary.

All members follow ``protocol.Constraint``: which tokens may come next, and the state after one of
them (Koo et al. 2024, §2.4). ``token_machine.TokenMachine`` is all that they may ask of each other.
``plain_mask`` is the exact mask in its plain form, ``engine`` the exact engine; ``methods`` are
those of the papers.
Models and sampling are unknown here.
"""
