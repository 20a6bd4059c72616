"""The exact engine: one mask row from one walk of the trie, and the closed form."""
