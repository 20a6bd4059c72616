"""Byte-pair encoding: which token sequences the tokenizer itself writes (canonical sequences).

    merge_rules     the rules of a vocabulary, normalised: one live split for each token; their
                    hash table, and kernels that apply rules to text
    encode          the encoder, and its check against the tokenizer
    pair_test       which two tokens may be adjacent; the row of forbidden next tokens; all rows
                    together: the automaton of canonical token sequences
    pretokenizer    the automaton of the pre-tokenizer's pattern, over characters
    added_tokens    the automaton of added tokens, which are cut out of a text first; that of the
                    texts in a Unicode normal form
    guide           these, pre-tokenizer, byte fallback and whole words as one automaton
    bpe             ``Bpe``, which offers all of this for a vocabulary

This package knows no grammars. "Reference" in its docstrings is the project's note on proper
tokenization, whose main source is Tran-Thien 2024 ("the article").
"""
