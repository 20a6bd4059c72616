"""JSON Schemas and dataclasses as grammar trees of the JSON texts they allow.

No reference is ever fetched, and no restricting keyword is ignored: an unsupported one is an error
that names it and its JSON pointer. The modules, in the order of the work:

* schema text to nodes with spans; drafts, errors, notes: ``schema_reader``; ``$ref``:
  ``references``
* nodes to sets of JSON values (``normal_form``): the package ``algebra``
* strings: ``string_sets``, with automata over characters (``string_machines``) of ``pattern`` and
  ``format``; automata of their JSON literals: ``json_literals``
* numbers: ``numbers``, made of ``intervals``, with the automata of their numerals, of which
  ``digit_machines`` has the states
* sets to rules: ``json_schema`` is the entry; ``write_values``, ``write_objects``,
  ``write_arrays``, ``write_phrases`` and ``counting`` write rules; options: ``schema_reader``
* dataclasses: the package ``typed``
"""
