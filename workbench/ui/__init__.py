"""The page: it translates between a person and the library; it decides nothing."""
