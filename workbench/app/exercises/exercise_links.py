"""Data in the fragment of a link: JSON, deflated, in URL-safe letters, with a check sum.

A browser does not send the fragment to a server. The page sends it with a request, and only
Python reads it, so that the solution of an exercise is not on the page. It is hidden, not
encrypted: a reader of this module can decode it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import WorkbenchError

_VERSION = "1"
#: Bytes that a link may unfold to.
_MAX_BYTES = 1 << 19
#: Characters of a link at most.
MAX_LINK = 1 << 19
_FORM = re.compile(r"(?:.*#)?(?:(?P<key>[a-z])=)?1\.(?P<sum>[0-9a-f]{8})\.(?P<data>[\w-]+)=*\Z")


class LinkError(WorkbenchError):
    """A link is incomplete, or holds something else."""


@dataclass(frozen=True, slots=True)
class Link:
    """A kind of link."""

    #: The letter before ``=`` in the fragment.
    key: str
    #: What it holds, in messages.
    what: str

    def encode(self, data: Mapping[str, Any]) -> str:
        """``KEY=1.SUM.LETTERS``."""
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
        packing = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packing.compress(text) + packing.flush()
        letters = base64.urlsafe_b64encode(packed).rstrip(b"=").decode()
        return f"{self.key}={_VERSION}.{zlib.crc32(text):08x}.{letters}"

    def decode(self, link: str) -> dict[str, Any]:
        """The data of an address, of its fragment, or of the part behind ``=``.

        Raises: LinkError where it is incomplete or holds something else.
        """
        form = _FORM.match(link.strip()) if len(link) <= MAX_LINK else None
        if form is None or form["key"] not in (None, self.key):
            raise LinkError(f"this is no link to {self.what}", "copy the whole link again")
        damaged = LinkError(
            f"the link to {self.what} cannot be read: it is incomplete or was changed",
            "copy the whole link again",
        )
        letters = form["data"]
        try:
            packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
            unpacking = zlib.decompressobj(-15)
            text = unpacking.decompress(packed, _MAX_BYTES)
            data = json.loads(text.decode())
        except (binascii.Error, zlib.error, ValueError, RecursionError):
            raise damaged from None
        whole = unpacking.eof and zlib.crc32(text) == int(form["sum"], 16)
        if not whole or not isinstance(data, dict):
            raise damaged
        return data

    @staticmethod
    def is_link(text: str) -> bool:
        """Whether a text has the form of a link."""
        return _FORM.match(text.strip()) is not None


EXERCISE = Link("x", "an exercise")
COURSE = Link("c", "a course")
