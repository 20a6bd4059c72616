"""The page as ``python app.py``, and as a Hugging Face Space starts it."""

from __future__ import annotations

import os

from workbench.app.ui.serve import ServeSettings, serve

_ON_A_SPACE = "builtin HuggingFaceTB/SmolLM2-135M-Instruct"


def main() -> None:
    """Serve with what the environment says: Gradio's own name and port, ``WORKBENCH_MODEL``.

    Several models are named with spaces between them. A Space offers the embedded model and
    SmolLM2 of the hub, which is downloaded when a visitor chooses it.
    """
    on_a_space = "SPACE_ID" in os.environ
    port = os.environ.get("GRADIO_SERVER_PORT")
    serve(
        ServeSettings(
            host=os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0" if on_a_space else "127.0.0.1"),
            port=int(port) if port else 7860,
            behind_proxy=on_a_space,
            models=tuple(os.environ.get("WORKBENCH_MODEL", _ON_A_SPACE * on_a_space).split()),
        )
    )


if __name__ == "__main__":
    main()
