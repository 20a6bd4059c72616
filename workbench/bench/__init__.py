"""How fast and how exact: this engine beside the ones in use, measured in one and the same run.

In come names of peers, cases and a vocabulary; out come records, one for each engine and case, and
a table of them. Every engine runs in a process of its own, so a crash or a hang is a result like
any other. Left out: how well a model writes under a mask; that is evaluation.
"""
