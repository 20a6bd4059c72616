"""Pruning: a subterminal tree, a parser and its state in; the nodes the parser allows go out.

Source: Beurer-Kellner et al. 2024, §3.4, Figure 3(e); upwards for a single token, §3.5.
"""

from __future__ import annotations

from workbench.automata.dfa import DEAD
from workbench.constraint.domino.parser import Parser, ParserState
from workbench.constraint.domino.trees import SubterminalTree
from workbench.vocabulary.vocabulary import TokenId


def pruned(tree: SubterminalTree, parser: Parser, state: ParserState) -> list[int]:
    """The nodes to which the parser allows all terminals from the root on.

    A terminal that has only begun, or only ends here, is asked for like a whole one.
    """
    terminal, depth, skip = tree.lists
    step, path = parser.step, [state] * (len(terminal) + 1)
    found, node = [], 0
    while node < len(terminal):
        below = depth[node]
        there = step(path[below], terminal[node])
        if there == DEAD:
            node = skip[node]
            continue
        path[below + 1] = there
        found.append(node)
        node += 1
    return found


def reaches(tree: SubterminalTree, parser: Parser, state: ParserState, token_id: TokenId) -> bool:
    """Whether one of a token's nodes is left by the parser."""
    for node in tree.nodes_of(token_id):
        here = state
        for terminal in tree.path(node):
            if (here := parser.step(here, terminal)) == DEAD:
                break
        else:
            return True
    return False
