"""The keywords of JSON Schema as set operations on JSON values.

* ``subschemas``: the entry, ``Algebra``; each subschema as a set, computed on first use
* ``keywords``: keywords of one type (strings, numbers, arrays, objects)
* ``closing``: which objects have only the members that are named
* ``combining``: keywords that combine subschemas (``allOf``, ``oneOf``, ``if``, ``unevaluated*``)
* ``exclusive``: ``oneOf`` of arrays and objects
* ``dividing``: objects divided by a property that distinguishes alternatives
* ``set_operations``: conjunction, union and complement of normal forms; whether a set is empty
* ``simplify``: removes redundant shapes and conditions, limits the shapes, orders declared names

The protocols that these modules use to call each other are in ``normal_form``.
"""
