"""Values that every package uses: source places, errors, limits, kernels, the ``Dfa``."""
