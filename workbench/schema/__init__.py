"""JSON Schema: in comes a schema's text, out comes a grammar tree of the JSON texts it allows.

No reference is ever fetched, and no keyword that restricts is ignored: what cannot be honoured is
refused by its name and its JSON pointer (``refusals``). A map, in the order of the work:

* text to nodes: ``reading``; which words count: ``dialect``; what a ``$ref`` means: ``resolve``
* nodes to the normal form (``values``), in ``algebra``: ``subschemas`` asks ``leaves``, ``shapes``,
  ``constants``, ``combining`` and ``unevaluated``, a keyword each
* the algebra of normal forms: ``algebra`` makes each set once; ``conjunction``, ``complement`` and
  ``exactly_one`` put sets together, ``cases`` and ``tags`` keep the shapes few, ``emptiness`` tells
  which have no value, ``doubts`` what formats leave open, ``names`` remembers sets of names,
  ``ordering`` in what order they are declared, and ``settling`` makes the form that is written
* ``strings``: ``texts`` over ``contents`` (``alphabet``), made by ``searching`` (``asking``),
  ``formats`` and ``hostnames``; spelled by ``spelling`` and ``words``
* ``numbers``: ``numbers`` over ``pieces`` and ``grids``; written as machines by ``numerals``,
  ``spans``, ``exponents``, ``decimals`` and ``digit_reading``
* rules: ``tree`` begins (``options``, ``guidance``), and in ``writing`` a module each writes
  ``objects``, ``arrays``, what counts (``graphs``, ``counting``, ``long_strings``, ``unique``),
  ``labels`` and ``whitespace``; ``living`` leaves out what has no text
* beside it all: ``truncated``, schema-free JSON of a depth as a regex
"""
