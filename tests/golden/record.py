"""The areas of the golden files, and how they are recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.golden import doors, masks, page, texts
from tests.golden.entries import Entry, changed_keys, lines_of, stored, subject_of, write


@dataclass(frozen=True, slots=True)
class Area:
    """One golden file."""

    #: What its entries are about.
    title: str
    subjects: Callable[[], list[str]]
    #: The entries of a subject.
    entries: Callable[[str], Iterator[Entry]]


#: By the name of the file.
AREAS: dict[str, Area] = {
    "masks": Area("masks of the gallery", masks.gallery_names, masks.gallery_masks),
    "edges": Area("closed forms of the gallery", masks.gallery_names, masks.gallery_edges),
    "methods": Area("masks of every method", masks.method_subjects, masks.method_masks),
    "cases": Area("masks and closed forms of the cases", masks.case_names, masks.case_masks),
    "exports": Area("exports of the gallery", masks.gallery_names, texts.exports),
    "machines": Area("machines as files", texts.machine_subjects, texts.written_machines),
    "errors": Area("messages", texts.error_subjects, texts.errors),
    "schemas": Area("JSON Schemas", texts.schema_names, texts.schema_entries),
    "pictures": Area("pictures of the gallery", masks.gallery_names, page.pictures),
    "page": Area("records of the page", masks.gallery_names, page.records),
    "advice": Area("advice on the gallery", masks.gallery_names, page.advice),
}


def made(area: str, subject: str) -> dict[str, str]:
    """The lines of a subject by key, made now."""
    with doors.fixed_clock():
        lines = lines_of(AREAS[area].entries(subject))
    assert all(subject_of(key) == subject for key in lines), "keys begin with the subject"
    return lines


def rerecord(area: str) -> tuple[int, list[str]]:
    """Write the file of an area; how many entries it has, and the keys that differ from before."""
    old = stored(area)
    new: dict[str, str] = {}
    for subject in AREAS[area].subjects():
        new |= made(area, subject)
    write(area, new)
    return len(new), changed_keys(old, new)
