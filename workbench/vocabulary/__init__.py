"""A tokenizer becomes byte strings: vocabularies, and the trie that merges their prefixes.

In comes a tokenizer or a list of byte strings; out comes a ``Vocabulary`` and its ``Trie``, the
detokenizing transducer T_V (Koo et al. 2024, Algorithm 1) with shared prefixes merged. Grammars
and automata are unknown here.
"""
