"""Writes a grammar in another notation, as a regex, or as a program that uses it."""
