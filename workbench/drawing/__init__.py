"""Anything built becomes a picture: in come machines and transducers, out come graphs, DOT, SVG.

``machines``, ``stack_machines`` and ``transducers`` make a ``Graph`` (nodes, edges, labels as
data); ``reductions`` makes it small enough to read; ``dot`` writes it; ``render`` lays it out.
Colours live in the style sheet, never here; nothing is drawn that a reader could not take in.
"""
