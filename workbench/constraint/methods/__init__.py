"""The methods of the papers, compared with the exact engine."""
