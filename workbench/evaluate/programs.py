"""Programs: the template a person would write for a task; a grammar in, its fixed-text variant out.

DOMINO compares with GUIDANCE programs of this kind (appendix A, listing 1): keys, braces and white
space are fixed, the values are holes. Where a task has lists of any length a program is written as
a grammar, since templates have no loops.
"""

from __future__ import annotations

from workbench.decoding.template import Template
from workbench.errors import WorkbenchError
from workbench.gallery import load_gallery
from workbench.grammar import Grammar
from workbench.limits import Limits

#: DOMINO, listing 1, with the third item its grammar (listing 7) asks for and no comma after it.
_RPG = """{{
    "id": {gen('id', regex='[1-9][0-9]*')},
    "description": "A nimble fighter",
    "name": "{gen('name', regex='[^\\n\\r"]+')}",
    "age": {gen('age', regex='[1-9][0-9]*')},
    "armor": "{select(['leather', 'chainmail', 'plate'])}",
    "weapon": "{select(['sword', 'axe', 'bow'])}",
    "class": "{gen('class', regex='[^\\n\\r"]+')}",
    "mantra": "{gen('mantra', regex='[^\\n\\r"]+')}",
    "strength": {gen('strength', regex='[1-9][0-9]*')},
    "items": [ "{gen('item', regex='[^\\n\\r"]+')}", "{gen('item', regex='[^\\n\\r"]+')}", \
"{gen('item', regex='[^\\n\\r"]+')}"]
}}"""

#: The worked problem laid out as listing 1 lays out its object.
_GSM8K = r"""start   ::= '{\n    "thoughts": [\n' thought (',\n' thought)* '\n    ],\n'
            '    "answer": ' number '\n}';
thought ::= '        {"step": "' text '", "calculation": "' text '", "result": ' number '}';
text    ::= #'[^"\\\\\n]*';
number  ::= #'-?(0|[1-9][0-9]*)(\\.[0-9]+)?';
"""

_XML = r"""start   ::= '<person>\n' body '</person>';
body    ::= '    <name>' text '</name>\n    <age>' text '</age>\n    <job>\n        <title>' text
            '</title>\n        <salary>' text '</salary>\n    </job>\n' friends?;
friends ::= '    <friends>\n' ('<person>\n' body '</person>')+ '\n    </friends>\n';
text    ::= #'[^<\n]+';
"""


#: By the gallery's example.
_PROGRAMS: dict[str, Template | str] = {
    "domino_rpg": Template.parse(_RPG),
    "domino_gsm8k": _GSM8K,
    "domino_xml": _XML,
}


def program_of(grammar: Grammar, limits: Limits) -> Grammar:
    """The template's language: texts of the grammar in one fixed layout.

    Raises: WorkbenchError where nobody wrote a program for this grammar.
    """
    for name, made in _PROGRAMS.items():
        if load_gallery()[name].text.rstrip() == grammar.source.text.rstrip():
            if isinstance(made, Template):
                return made.grammar
            return Grammar.from_kbnf(made, limits=limits, name="template")
    raise WorkbenchError(
        "nobody wrote a template for this grammar",
        f"there are templates for {', '.join(_PROGRAMS)}; template-ws takes any grammar",
    )
