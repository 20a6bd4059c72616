"""``Grammar``: a text in any notation and its machine; recognition, label encoding, examples."""
