"""Writes a grammar of any notation as text in another, or as a program that uses it.

What has a tree keeps its rules, names and comments; what is a machine is written as a regex, or as
rules that call each other at their ends.
"""
