"""Schemas become sets of JSON values, and these are put together: both, either, not."""
