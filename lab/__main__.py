"""``python -m lab``."""

from __future__ import annotations

from lab.commands import app
from workbench.app.cli.main import run_commands

if __name__ == "__main__":
    run_commands(app)
