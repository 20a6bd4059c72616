"""A machine and a vocabulary become masks: every member speaks the protocol of ``protocol``.

In come a byte machine and a ``Vocabulary``; out comes a ``Constraint``: which tokens may come
next, and the state after one of them. This is the one door between the machine half and the
vocabulary half (Koo et al. 2024, §2.4). Models, sampling and pictures are left to others.
"""
