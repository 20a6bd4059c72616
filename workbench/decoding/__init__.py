"""Decoding: models, the loop, sampling strategies, traces, and comparisons of methods.

Nothing else in this project loops over a model. Pictures and files are unknown here.
"""
