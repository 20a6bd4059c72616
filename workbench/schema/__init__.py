"""JSON Schemas and dataclasses as grammar trees of the JSON texts they allow.

No reference is ever fetched, and no keyword that restricts is ignored: what cannot be honoured is
refused by its name and its JSON pointer. The modules, in the order of the work:

* text to nodes with places, drafts, refusals: ``schema_reader``; ``$ref``: ``references``
* nodes to the normal form (``normal_form``): ``algebra``, the set operations on JSON values
* strings: ``string_sets`` over ``string_machines``, with ``patterns`` and ``formats``; their JSON
  literals: ``json_literals``
* numbers: ``numbers`` over ``intervals``; their numerals: ``numerals`` and ``digit_machines``
* rules: ``json_schema`` is the entry; ``write_values``, ``write_objects``, ``write_arrays``,
  ``member_rows`` and ``counting`` write the rules; ``schema_options`` says how
* dataclasses: ``typed``
"""
