"""Tests of lists of tasks."""
