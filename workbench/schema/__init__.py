"""JSON Schemas and dataclasses as grammar trees of the JSON texts they allow.

No reference is ever fetched, and no restricting keyword is ignored: an unsupported one is an error
that names it and its JSON pointer. The modules, in the order of the work:

* schema text to nodes with spans; drafts, errors, notes: ``schema_reader``; ``$ref``:
  ``references``
* nodes to sets of JSON values (``normal_form``): the package ``algebra``
* strings: ``string_sets``, with automata over characters (``string_machines``) of ``patterns`` and
  ``formats``; automata of their JSON literals: ``json_literals``
* numbers: ``numbers``, made of ``intervals``; automata of their numerals: ``numerals`` and
  ``digit_machines``
* sets to rules: ``json_schema`` is the entry; ``write_values``, ``write_objects``,
  ``write_arrays``, ``member_rows`` and ``counting`` write rules; options: ``schema_options``
* dataclasses: the package ``typed``
"""
