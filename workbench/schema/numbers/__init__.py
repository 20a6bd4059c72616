"""Exact sets of JSON numbers; out come the machines of their numerals."""
