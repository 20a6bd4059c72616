"""Proper (canonical) tokenization under a grammar: only tokens that the tokenizer would write.

A state of the product of machine and tokenizer is a *position*: the machine's state and a *guess*
of the tokenizer's guide, how the text read is divided into pieces. ``walker`` computes the edges of
the permissive automaton, ``live_edges`` decides which of them are live in a DFA,
``spelling_search`` decides the others on demand, and ``proper`` builds masks of live tokens.
``proper_methods`` shares live edges between grammars (Vegas configurations); ``direct_merge``
builds automata over tokens instead.

Source: V. Tran-Thien 2024, "Fast, High-Fidelity LLM Decoding with Regex Constraints". Tokenizers
that do not merge (unigram, WordPiece) and dropout are left out.
"""
