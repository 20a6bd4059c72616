"""Decoding: models, the decoding loop, strategies, sampling, traces, and comparisons of methods.

All loops over a model are in this package; it does not import pictures or files.
"""
