"""The page: translates between the browser and the library; contains no algorithms."""
