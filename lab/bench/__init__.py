"""Benchmarks: this engine and its peers in one run, each engine in a separate process."""
