"""Pictures of machines and transducers: graphs, DOT and SVG.

``drawable`` chooses the machine of a grammar; ``machines`` and ``transducers`` build its ``Graph``
(nodes, edges, labels as data); ``reductions`` makes it smaller; ``dot`` and ``render`` lay it out
with Graphviz, ``lanes`` in lanes; ``views`` chooses the layout that is legible in a box. Colours
are in the style sheet.
"""
