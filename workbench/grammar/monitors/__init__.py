"""Monitors: what a text may continue with by its meaning, where a grammar knows only its form."""
