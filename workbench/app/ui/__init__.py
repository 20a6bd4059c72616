"""The page: translates between the browser and the library, without algorithms of its own."""
