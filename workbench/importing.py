"""Importing: what texts of other notations need besides syntax; machines and schemas for them."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import ParseError
from workbench.pushdown.combining import Combining
from workbench.source import Source
from workbench.syntax.grammar_tree import GrammarTree, Sequence


class Importing(Combining):
    """All that ``syntax.beyond`` asks for, for one text."""

    __slots__ = ()

    def schema(self, source: Source) -> GrammarTree:
        """The rules of a JSON Schema, without blanks around the whole instance.

        What stands around it is the grammar's to say.

        Raises: ParseError, BuildError, LimitError.
        """
        from workbench.schema.guidance import KEYWORD
        from workbench.schema.tree import schema_grammar

        made = schema_grammar(source, limits=self.limits)
        for note in made.notes:
            if note.pointer.startswith(f"/{KEYWORD}"):  # nobody is shown the notes of a part
                message = f"{note.pointer} cannot be read: it says how one engine writes JSON"
                raise ParseError(message, source, note.span, "leave it out", "unsupported")
        tree = made.tree
        start, *others = tree.rules
        match start.body:
            case Sequence((before, whole, after), _) if before == after:
                start = replace(start, body=whole)
        return GrammarTree((start, *others), source)
