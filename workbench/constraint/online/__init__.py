"""Online checkers: a recogniser asked about every token at every step, nothing made beforehand."""
