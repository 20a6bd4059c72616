"""Proper tokenization under a grammar: only the tokens a tokenizer would write, exactly those.

In come a machine over bytes and the tables of a byte-pair encoding; out come token automata
(``direct_merge``, ``cartesian``, for pictures and tests) and constraints that serve large
vocabularies (``constraint``, over the edges ``live`` finds). Source: V. Tran-Thien 2024, "Fast,
High-Fidelity LLM Decoding with Regex Constraints"; what is done otherwise is said in each module.
Left out: tokenizers that do not merge (unigram, WordPiece), dropout.
"""
