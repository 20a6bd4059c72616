"""``x-guidance``: what a schema asks of llguidance in; the whitespace policy it means out.

No draft has this keyword. Its separators are regexes to llguidance; those of the policies have no
sign in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.schema.options import SchemaOptions, Whitespace
from workbench.schema.reading import Node

KEYWORD = "x-guidance"

#: The policy of an item and a key separator where whitespace is not flexible.
_POLICIES: dict[object, Whitespace] = {
    (",", ":"): Whitespace.COMPACT,
    (", ", ": "): Whitespace.ONE_SPACE,
}
_SEPARATORS = ("item_separator", ","), ("key_separator", ":")
_FLEXIBLE = "whitespace_flexible"
_LAYOUT = frozenset({_FLEXIBLE, *(name for name, _ in _SEPARATORS)})
#: What is so here: every escape of JSON is read.
_SO_ANYWAY = {"json_allow_general_unicode_escapes": True}


def guided(root: Node, options: SchemaOptions) -> tuple[SchemaOptions, tuple[Node, ...]]:
    """The options with the policy a schema asks for, and the members of it nobody here follows.

    A policy that is not the usual one was chosen by somebody: it stays.

    Law: the separators are those of llguidance 1.9, which takes whitespace to be flexible unless a
         separator is given.
    """
    asked = (root.members or {}).get(KEYWORD)
    if asked is None:
        return options, ()
    if asked.members is None:
        return options, (asked,)
    policy = _policy(asked.members)
    ignored = tuple(_not_followed(asked.members, policy))
    if policy is not None and options.whitespace == Whitespace.ANY:
        options = replace(options, whitespace=policy)
    return options, ignored


def _policy(asked: dict[str, Node]) -> Whitespace | None:
    """The policy that layout asks for; None where it is none of ours."""
    given = {name: node.value for name, node in asked.items() if name in _LAYOUT}
    separators = tuple(given.get(name, usual) for name, usual in _SEPARATORS)
    flexible = given.get(_FLEXIBLE, not given)
    if flexible is True:
        return Whitespace.ANY if separators == (",", ":") else None
    return _POLICIES.get(separators) if flexible is False else None


def _not_followed(asked: dict[str, Node], policy: Whitespace | None) -> Iterator[Node]:
    for name, node in asked.items():
        if name in _LAYOUT:
            if policy is None:
                yield node
        elif name not in _SO_ANYWAY or node.value is not _SO_ANYWAY[name]:
            yield node
