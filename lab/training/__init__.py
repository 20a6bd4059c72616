"""The embedded language model: documents, tokenizer, training, figures, model card.

``python -m lab train`` runs it; the result is a model directory that ``transformers`` loads. It
uses no grammar and no constraint.
"""
