"""DOMINO (Beurer-Kellner, Fischer & Vechev 2024, §3): scanner, subterminal trees, parser."""
