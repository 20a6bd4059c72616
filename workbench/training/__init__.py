"""The embedded language model, from nothing: documents, tokenizer, training, figures, model card.

In: a seed, and the GSM8K questions kept beside this file. Out: a model directory which
``transformers`` loads. Left out: every decision about decoding; this room knows no grammar
and no constraint. ``workbench.training.train.train`` is the one way in.
"""
