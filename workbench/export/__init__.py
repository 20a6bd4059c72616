"""Export: a grammar of any notation in, text in every notation out, and programs that use it.

What has a tree keeps its rules, names and comments; what is a machine is written as a regex, or as
rules that call each other at their ends.
"""
