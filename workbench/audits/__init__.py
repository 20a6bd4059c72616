"""Audits the masks of other engines: where they forbid what a valid text needs, and the reverse."""
