"""Compares the engine's masks with a slow recogniser that shares only the tree with it."""
