"""GBNF, as of llama.cpp and xgrammar: text becomes a grammar tree."""
