"""Lark, its own and llguidance's: text becomes a grammar tree."""
