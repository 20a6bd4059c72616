"""Byte-pair encoding: which token sequences the tokenizer itself would write.

``Bpe`` has the encoder, the pair test, the rows of forbidden next tokens and the automaton of the
pre-tokenizer. Grammars are unknown here.
"""
