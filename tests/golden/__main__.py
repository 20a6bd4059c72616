"""``python -m tests.golden [AREA …]``: records the golden files again and lists what changed.

``--show KEY`` prints the entries whose key begins with KEY as they are made now, in full: what the
files have as a digest is written out, so that two versions of the program can be compared.
"""

from __future__ import annotations

import argparse
import json
import time

from tests.golden import doors
from tests.golden.entries import full, stored, subject_of
from tests.golden.record import AREAS, rerecord

#: Changed keys that are listed for one area.
_LISTED = 12


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}")
    parser.add_argument("--show", metavar="KEY", help="print entries in full, and write nothing")
    given = parser.parse_args()
    if unknown := set(given.areas) - AREAS.keys():
        parser.error(f"expected areas of {', '.join(AREAS)}, not {', '.join(sorted(unknown))}")
    for area in given.areas or AREAS:
        if given.show:
            _show(area, given.show)
        else:
            _record(area)


def _record(area: str) -> None:
    started, before = time.perf_counter(), stored(area)
    count, changed = rerecord(area)
    seconds = time.perf_counter() - started
    now = stored(area)
    print(f"{area}: {count:,} entries, {len(changed):,} changed, {seconds:.1f} s")
    for key in changed[:_LISTED] if before else []:
        print(f"  {'+' if key not in before else '-' if key not in now else '~'} {key}")
    if before and len(changed) > _LISTED:
        print(f"  … and {len(changed) - _LISTED:,} more")


def _show(area: str, key: str) -> None:
    if subject_of(key) not in AREAS[area].subjects():
        return
    with doors.fixed_clock():
        for entry in AREAS[area].entries(subject_of(key)):
            if entry["key"].startswith(key):
                print(json.dumps(full(entry), ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
