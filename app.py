"""The page as ``python app.py``, and as a Hugging Face Space starts it."""

from __future__ import annotations

import os
import sys

from workbench.app.ui.serve import ServeSettings, serve
from workbench.base.errors import WorkbenchError

_ON_A_SPACE = "builtin HuggingFaceTB/SmolLM2-135M-Instruct"


def main() -> None:
    """Serve with what the environment says: Gradio's own name and port, ``WORKBENCH_MODEL``.

    Several models are named with spaces between them. A Space offers the embedded model and
    SmolLM2 of the hub, which is downloaded when a visitor chooses it.
    """
    on_a_space = "SPACE_ID" in os.environ
    serve(
        ServeSettings(
            host=os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0" if on_a_space else "127.0.0.1"),
            port=_port(os.environ.get("GRADIO_SERVER_PORT", "")),
            behind_proxy=on_a_space,
            models=tuple(
                os.environ.get("WORKBENCH_MODEL", _ON_A_SPACE if on_a_space else "").split()
            ),
            # the Space's own page shows it in a frame
            embed=("https://huggingface.co",) if on_a_space else (),
            log_level=os.environ.get("WORKBENCH_LOG_LEVEL", "warning"),
        )
    )


def _port(named: str) -> int:
    """The port of the environment, 7860 without one.

    Raises: WorkbenchError where it is no port.
    """
    if not named:
        return 7860
    if not named.isdecimal() or int(named) > 65535:
        raise WorkbenchError(f"expected a port as GRADIO_SERVER_PORT, not {named[:40]!r}")
    return int(named)


if __name__ == "__main__":
    try:
        main()
    except WorkbenchError as error:
        sys.exit(f"error: {error}")
