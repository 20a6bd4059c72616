"""Regexes: parser and printer, with the dialects of Python, JSON Schema and Rust."""
