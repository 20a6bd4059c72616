"""Proper tokenization under a grammar: only tokens that the tokenizer itself would write.

Source: V. Tran-Thien 2024, "Fast, High-Fidelity LLM Decoding with Regex Constraints". Tokenizers
that do not merge (unigram, WordPiece) and dropout are left out.
"""
