"""Pictures of machines and transducers: graphs, DOT and SVG.

``machines``, ``stack_machines`` and ``transducers`` make a ``Graph`` (nodes, edges, labels as
data); ``reductions`` makes it small enough to read; ``dot`` writes it; ``render`` lays it out.
Colours live in the style sheet, never here; nothing is drawn that a reader could not take in.
"""
