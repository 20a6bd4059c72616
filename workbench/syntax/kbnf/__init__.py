"""KBNF: text becomes a grammar tree by the tables lark makes of ``kbnf.lark``, and text again."""
