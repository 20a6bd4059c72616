"""Sets of strings, by content; out come the machines of their JSON literals."""
