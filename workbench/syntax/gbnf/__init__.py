"""GBNF of llama.cpp, and the macros of xgrammar's EBNF."""
