"""Lark grammars, with llguidance's extensions."""
