"""Values that every package uses: source spans, errors, limits, kernels, the ``Dfa``."""
