"""Sets of JSON values become rules of a grammar, in declared order."""
