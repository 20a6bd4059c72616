"""KBNF: lexer, parser and messages."""
