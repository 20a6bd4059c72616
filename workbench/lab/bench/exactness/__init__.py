"""Exactness: the engine's masks against a slow recogniser that shares only the tree with it."""
