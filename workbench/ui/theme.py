"""Gradio's theme where our style sheet does not reach: the system's fonts, nothing fetched."""

from __future__ import annotations

import gradio as gr


def theme() -> gr.themes.Base:
    """A plain theme without web fonts (two thirds of an empty page's weight)."""
    return gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
