"""Monitors: recognisers of texts by their meaning; a grammar describes only the form."""
