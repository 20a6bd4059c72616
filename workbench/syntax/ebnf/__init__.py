"""EBNF as W3C and ISO define it."""
