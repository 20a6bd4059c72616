"""The embedded language model: documents, tokenizer, training, figures, model card.

The result is a model directory that ``transformers`` loads. Grammars and constraints are
unknown here.
"""
