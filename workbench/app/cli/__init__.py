"""The command line. Each command translates options into library calls and prints the answer.

Exit status: 0 accepted or done, 1 rejected, 2 wrong use. With ``--json`` every line is one object,
also each error; stderr has the errors as text.
"""
