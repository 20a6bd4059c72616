"""``workbench serve``: open the page."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.options import ModelOption, told


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.")] = 7860,
    model: ModelOption = "builtin",
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open a browser window.")
    ] = True,
) -> None:
    """Open the page in the browser; stops with Ctrl+C."""
    with told():
        from workbench.ui.serve import ServeSettings
        from workbench.ui.serve import serve as run

        run(ServeSettings(host=host, port=port, model=model, open_browser=open_browser))
