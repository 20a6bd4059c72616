"""``workbench serve``: open the page."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.options import told


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.")] = 7860,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="builtin, toy, a directory or a hub id; again for each model the page offers."
        ),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open a browser window.")
    ] = True,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Serve the endpoints as tools for assistants too.")
    ] = False,
) -> None:
    """Open the page in the browser; stops with Ctrl+C."""
    with told():
        from workbench.ui.serve import ServeSettings
        from workbench.ui.serve import serve as run

        run(
            ServeSettings(
                host=host,
                port=port,
                models=tuple(model or ["builtin"]),
                open_browser=open_browser,
                mcp=mcp,
            )
        )
