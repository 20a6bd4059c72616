"""DOMINO (Beurer-Kellner, Fischer & Vechev 2024, §3): a scanner, subterminal trees and a parser.

In come a grammar and a vocabulary; out come masks made by pruning precomputed trees with a parser,
as far ahead as a lookahead ``k`` allows. Speculation and the decoding loops are ``decoding``'s.
"""
