"""``python -m workbench`` is the command line."""

from workbench.app.cli.main import main

if __name__ == "__main__":
    main()
