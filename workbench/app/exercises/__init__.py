"""Exercises of the page: their files, links that hold an exercise or a course, and courses.

The check of an answer is ``workbench.analysis.exercise``.
"""
