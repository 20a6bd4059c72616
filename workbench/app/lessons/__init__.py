"""Lessons: the figures, tables and worked examples of the sources, made by the engine.

The files ``content/*.toml`` hold one lesson each; the modules make films (a picture with frames),
tables, and questions that the engine answers.

A new lesson is one more file and its name on one of ``lesson_reader.SHELVES``. A step has a
title, a text, a source and a world (``regex`` or ``kbnf``; ``tokens`` or ``merges``; ``chances`` of
a model, of a ``draft`` and ``warm`` runs; the lesson's where the step has none). It names a
``figure`` of ``films.FILMS``, a ``table`` of ``lesson_tables.TABLES`` and a ``question`` of
``questions.QUESTIONS``, each with its settings. A new kind of figure, table or question is a
function of a world and one line in the registry. Its
data are written by hand in ``tests/lessons``, and so is an answer that is right and one that is
wrong.

Left out: anything of the page. ``app.ui.lesson_view`` makes the records.
"""
