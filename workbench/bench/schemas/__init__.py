"""JSON Schemas with instances in; out comes who compiles which, and what is accepted of them.

``workbench bench --schemas FILE`` runs it: FILE holds a JSON object a line, with ``id``, ``schema``
and ``tests`` (``data``, ``valid``). ``--peers none`` measures ours alone, ``--json`` prints what
became of every schema, ``--only TEXT`` takes the rows whose id, suite or subset holds the text.
"""
