"""JSON Schema: in comes a schema's text, out comes a grammar tree of the JSON texts it allows.

Text becomes nodes (``reading``), nodes become a normal form by an algebra of sets of JSON values
(``values``, ``algebra`` and the modules it leans on), and the normal form is written as rules.
No reference is ever fetched, and no keyword that restricts is ignored: what cannot be honoured is
refused by its name and its JSON pointer.
"""
