"""Benchmarks, the papers' experiments, training, fuzzing and tables; never installed."""
