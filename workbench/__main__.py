"""``python -m workbench`` is the command line."""

import sys


def main() -> None:
    """Run the command line; Ctrl+C ends it without a traceback, also while modules are loaded."""
    try:
        from workbench.app.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
