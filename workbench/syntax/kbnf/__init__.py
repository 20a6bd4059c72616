"""KBNF: parser by lark's tables of ``kbnf.lark``, and printer."""
