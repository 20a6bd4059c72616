"""Vocabularies: tokens as bytes, the trie that merges their prefixes, and tokenizers.

The trie is the detokenizing transducer T_V (Koo et al. 2024, Algorithm 1) with shared prefixes
merged. Grammars and automata are unknown here.
"""
