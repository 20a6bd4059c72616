"""A model and a constraint become a trace: the loop, sampling, and a record of every token.

In come a ``LanguageModel``, a ``Constraint`` and a prompt; out come ``Step`` after ``Step``.
Nothing else in this project loops over a model. HTML, pictures and files are left to others.
"""
