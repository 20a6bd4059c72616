"""Oracles: slow implementations from the definitions, which tests compare with the product's.

Never import them outside tests. ``brute_force`` has languages as predicates on byte strings,
``grammar_oracle`` a recogniser of grammar trees, ``schema_oracle`` a JSON Schema validator,
``literal_oracle`` every JSON literal of a string, ``tree_oracle`` every derivation tree of a text, and ``exactness`` a command that compares masks
with an Earley recogniser, 100 million decisions by default (``python -m tests.oracles.exactness``).
"""
