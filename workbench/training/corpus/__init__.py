"""Documents to train on: one module for each family of formats, each a seeded generator.

In: a random number generator. Out: a prompt and the text that answers it, whole and true: ages
match dates, sums are right, an e-mail address fits its name. Left out: mixing and tokens.
"""
