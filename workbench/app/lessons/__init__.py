"""Lessons: figures, tables and worked examples of the sources, computed by the engine.

``content/*.toml`` contains one lesson each. The modules here make films (a picture with frames),
tables, and questions whose answers the engine checks.

A new lesson is a further file and its name in ``lesson_reader.SHELVES``. A step has a title, a
text, a source and a world (``regex`` or another notation; ``tokens`` or ``merges``; ``chances`` of
a model, of a ``draft``; ``warm`` runs); the lesson's values are the defaults. A step can name a
``figure`` of ``films.FILMS``, a ``table`` of ``films.TABLES`` and a ``question`` of
``questions.QUESTIONS``, each with its settings. A new kind of one of these is a function of a world
and an entry in its registry; its expected data are written by hand in ``tests/lessons``, with a
right and a wrong answer.

``app.ui.lesson_view`` makes the page's records; nothing here depends on the page.
"""
