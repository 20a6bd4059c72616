"""The page: it translates between what a person does and what the library answers; it decides nothing."""
