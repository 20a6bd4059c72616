"""Anything built becomes a picture: DOT with class names and data, laid out to SVG.

In come machines and transducers; out come ``Picture`` values (nodes, edges, labels as data),
DOT text and SVG. Colours live in the style sheet, never here.
"""
