"""Byte-pair encoding as the tokenizer does it: which token sequences are proper, and how to know.

In comes a ``Vocabulary`` with its merge rules; out comes a ``Bpe``: the encoder, the pair test, the
rows of forbidden next tokens and the automaton of its pre-tokenizer. Grammars are unknown here.
"""
