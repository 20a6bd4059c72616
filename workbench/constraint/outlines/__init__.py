"""Outlines: an index of the vocabulary over a character machine, and LALR(1) by terminals."""
