"""ANTLR 4 grammars."""
