"""Pictures of machines and transducers: graphs, DOT and SVG.

``machines``, ``stack_machines`` and ``transducers`` make a ``Graph`` (nodes, edges, labels as
data); ``reductions`` makes it smaller; ``dot`` and ``render`` lay it out with Graphviz, ``lanes``
in lanes; ``views`` chooses what can be read in a box. Colours are in the style sheet.
"""
