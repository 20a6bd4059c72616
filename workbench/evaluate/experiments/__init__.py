"""The papers' tables and figures as experiments on the model at hand; a registry names them all.

Every module asks one question. In come a model and a size, out come records and the section of the
written page that tells them beside the paper's own figures.
"""
