"""Sets of JSON values: conjunction, union, complement, emptiness."""
