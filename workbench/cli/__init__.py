"""The command line: ``workbench serve | check | draw | mask | generate | train | bench``.

Each command translates options into library calls and prints the answer; it decides nothing. Exit
status: 0 accepted or done, 1 rejected, 2 wrong use. With ``--json`` every line is one object.
"""
