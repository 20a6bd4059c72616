"""Benchmarks, the papers' experiments and training; imported only by lazy commands."""
