"""Documents to train on: seeded generators, grouped by format.

Each returns a prompt and an answer that is true: ages match dates, sums are right.
"""
