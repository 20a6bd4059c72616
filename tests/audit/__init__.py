"""Audits of other engines."""
