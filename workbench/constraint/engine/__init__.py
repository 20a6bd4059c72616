"""The exact engine: one mask row from one walk of the trie, and the closed form.

It is the optimisation of ``plain_mask``, whose masks it computes with compiled kernels.

Rows on demand: ``automaton`` holds the constraints; ``mask_rows`` computes one row with the kernels
of ``trie_walk`` and ``row_cache``. Closed form (all rows, as edges):
``compose`` for a DFA, ``compose_pda`` for a network; ``compose_kernel`` writes the rows,
``compose_edges`` decodes them. Both take what is inside a self-loop from ``trie_walk``.
"""
