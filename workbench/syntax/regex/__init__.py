"""Regexes: text becomes a tree of characters, repetitions and groups, in its dialect."""
