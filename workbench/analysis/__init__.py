"""Answers about a grammar: explanations, advice, differences, samples, and traces of runs."""
