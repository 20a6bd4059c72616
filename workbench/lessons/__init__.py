"""Lessons: the figures, tables and worked examples of the sources, made by the engine.

In come the texts of ``content/*.toml``, one lesson a file; out come films (a picture with frames),
tables, and questions that the engine answers. What a lesson may name is listed in ``films``,
``tables`` and ``questions``; a new lesson of the same kinds of pictures is one more file.

Left out: anything of the page. ``ui.lessons`` makes records of what is here.
"""
