"""Kernels in their two forms, the switch between them, and the cache of compiled code."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workbench.base import kernel_cache

ROOT = Path(__file__).parents[1]

#: A module without kernels.
CODES = """
from typing import NamedTuple

PLUS = {plus}

class Pair(NamedTuple):
    {first}: int
    {second}: int
"""

BELOW = """
from workbench.base.kernels import inner
from made.codes import PLUS

@inner
def answer(number: int) -> int:
    return number + PLUS
"""

ABOVE = """
import sys
from workbench.base import kernels
from workbench.base.kernels import compile_all, inlined, int64, njit
from made.below import answer
from made.codes import Pair

kernels._EXAMPLES = "made.above"

@njit(_nrt=False)
def above_answer(number: int) -> int:
    return between(number)

@inlined
def between(number: int) -> int:
    return answer(int64(number))

@njit()
def left_of(pair: Pair) -> int:
    return pair.left

def examples():
    above_answer(1)
    left_of(Pair(left=5, right=7))

def main():
    compile_all(examples)
"""

#: Prints an answer in each form, and whether the process compiled anything.
USED = """
from numba.core import event
from made import above
from workbench.base.kernels import interpreting, wait_until_compiled

class Compilations(event.Listener):
    seen = 0
    def on_start(self, _):
        self.seen += 1
    def on_end(self, _):
        pass

compilations = Compilations()
event.register("numba:compile", compilations)
first, waiting = above.above_answer(1), interpreting()
wait_until_compiled()
print(first, above.above_answer(1), waiting, interpreting(), compilations.seen > 0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "made").mkdir()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "made" / "above.py").write_text(ABOVE)
    (tmp_path / "made" / "below.py").write_text(BELOW)
    write_codes(tmp_path)
    return tmp_path


def write_codes(folder: Path, plus: int = 1, fields: str = "left right") -> None:
    """Write the module of constants; its size is always the same."""
    first, second = fields.split()
    text = CODES.format(plus=f"{plus:2}", first=first, second=second)
    (folder / "made" / "codes.py").write_text(text)


def run(folder: Path, form: str, code: str = USED) -> list[str]:
    """What a process prints: the answers, whether it had to wait, and whether it compiled."""
    return ran(folder, form, code).stdout.split()


def ran(
    folder: Path, form: str, code: str = USED, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A process that succeeded, with what it printed and logged."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",  # or a change within a second were not noticed
        "WORKBENCH_KERNELS": form,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TMPDIR": str(folder / "temporary"),
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        **variables,
    }
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def code_files(folder: Path) -> list[Path]:
    return list((folder / "cache").rglob("*.code"))


@pytest.mark.slow
def test_another_process_compiles_while_this_one_interprets(folder: Path) -> None:
    assert run(folder, "auto") == ["2", "2", "True", "False", "False"]
    assert run(folder, "auto") == ["2", "2", "False", "False", "False"], "they are in the cache"
    assert run(folder, "python") == ["2", "2", "False", "False", "False"]


@pytest.mark.slow
def test_a_change_below_is_noticed_above(folder: Path) -> None:
    assert run(folder, "compiled")[-1] == "True"
    assert run(folder, "compiled") == ["2", "2", "False", "False", "False"]
    write_codes(folder, plus=41)
    assert run(folder, "compiled") == ["42", "42", "False", "False", "True"]
    assert run(folder, "auto") == ["42", "42", "True", "False", "False"], "not all were compiled"
    write_codes(folder, plus=51)
    assert run(folder, "auto") == ["52", "52", "True", "False", "False"], "the list is of others"


LEFT = """
from made import above
print(above.left_of(above.Pair(left=5, right=7)))
"""


@pytest.mark.slow
def test_a_change_of_the_order_of_fields_is_noticed(folder: Path) -> None:
    assert run(folder, "compiled", LEFT) == ["5"]
    write_codes(folder, fields="right left")
    assert run(folder, "compiled", LEFT) == ["5"]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"half", None])
def test_a_damaged_cache_is_compiled_again(folder: Path, damage: bytes | None) -> None:
    run(folder, "compiled")
    for path in code_files(folder):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data if damage is None else damage)
    again = ran(folder, "compiled")
    assert again.stdout.split() == ["2", "2", "False", "False", "True"]
    (line,) = again.stderr.splitlines()
    assert line.endswith("are damaged and are compiled again")
    after = ran(folder, "compiled")
    assert after.stdout.split() == ["2", "2", "False", "False", "False"]
    assert after.stderr == ""


READ_ONLY = """
from pathlib import Path

def refused(*_, **__):
    raise PermissionError

Path.unlink = refused
"""


@pytest.mark.slow
@pytest.mark.parametrize("read_only", [False, True])
def test_another_process_compiles_what_is_damaged(folder: Path, read_only: bool) -> None:
    run(folder, "auto")
    for path in code_files(folder):
        path.write_bytes(b"damaged")
    # its list of files cannot be removed where the folder is read-only
    again = ran(folder, "auto", READ_ONLY + USED if read_only else USED)
    waited, compiled = ("False", "True") if read_only else ("True", "False")
    assert again.stdout.split() == ["2", "2", waited, "False", compiled]
    (line,) = again.stderr.splitlines()
    assert line.endswith("are damaged and are compiled again")
    assert ran(folder, "auto").stdout.split() == ["2", "2", "False", "False", "False"]


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_fails_no_call(folder: Path) -> None:
    (folder / "cache").write_text("a file in the place of the folder")
    assert run(folder, "auto") == ["2", "2", "True", "False", "False"], "in a temporary folder"
    assert run(folder, "auto") == ["2", "2", "False", "False", "False"], "which is kept"
    (own,) = (folder / "temporary").iterdir()
    assert own.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="the temporary folder is the user's own")
@pytest.mark.parametrize("opened", ["mode", "link"])
def test_a_temporary_folder_that_others_may_write_is_not_used(folder: Path, opened: str) -> None:
    (folder / "cache").write_text("a file in the place of the folder")
    own = folder / "temporary" / f"grammar-workbench-{os.getuid()}"
    if opened == "link":
        (folder / "elsewhere").mkdir(mode=0o700)
        own.symlink_to(folder / "elsewhere")
    else:
        own.mkdir()
        own.chmod(0o777)
    assert run(folder, "auto")[:2] == ["2", "2"]
    assert run(folder, "compiled") == ["2", "2", "False", "False", "True"]
    assert not list(own.iterdir())


class Payload:
    """A pickle of it makes a folder when it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


#   what others may write                 how
OPENED = [
    ("the file",                          0o666),
    ("the file",                          "owner"),
    ("the folder of this processor",      0o777),
    ("the folder of this processor",      "owner"),
    ("the folder of kernels",             0o777),
    ("the folder of kernels",             "owner"),
    ("the folder of the project",         0o777),
    ("the folder of the project",         0o775),  # a group of other users
    ("the folder of the project",         "owner"),
    ("the folder of the project",         "link"),
    ("the folder that is named",          0o777),
    ("the folder that is named",          "owner"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have access lists there")
@pytest.mark.parametrize(("what", "how"), OPENED)
def test_code_that_others_may_have_written_is_not_run(
    folder: Path, what: str, how: int | str
) -> None:
    if os.getuid() and how != 0o777 and how != 0o666:
        pytest.skip("only root gives files to another user")
    run(folder, "compiled")
    (codes,) = {path.parent for path in code_files(folder)}
    mark, variables = folder / "mark", {}
    payload = pickle.dumps(Payload(mark))
    for path in code_files(folder):
        path.write_bytes(hashlib.sha256(payload).digest() + payload)
    opened = {
        "the file": code_files(folder),
        "the folder of this processor": [codes],
        "the folder of kernels": [codes.parent],
        "the folder of the project": [codes.parents[1]],
        "the folder that is named": [codes],
    }[what]
    if what == "the folder that is named":
        variables["WORKBENCH_KERNEL_FOLDER"] = str(codes)
    for path in opened:
        if how == "link":
            path.rename(folder / "elsewhere")
            path.symlink_to(folder / "elsewhere")
            os.chown(path, 65534, 65534, follow_symlinks=False)
        elif how == "owner":
            os.chown(path, 65534, 65534)
        else:
            assert isinstance(how, int)
            path.chmod(how)
            if os.getuid() == 0:
                os.chown(path, 0, 65534)
    done = ran(folder, "compiled", **variables)
    assert done.stdout.split() == ["2", "2", "False", "False", "True"]
    assert not mark.exists()
    (line,) = done.stderr.splitlines()
    assert str(opened[0]) in line or opened[0].suffix
    reason = (
        "belongs to another user" if how in ("owner", "link") else "can be written by other users"
    )
    assert reason in line


@pytest.mark.slow
def test_of_two_new_processes_one_compiles(folder: Path) -> None:
    (folder / "made" / "above.py").write_text(ABOVE.replace("def examples():", COUNTED))
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda _: run(folder, "auto"), range(2))
    assert first == second == ["2", "2", "True", "False", "False"]
    assert (folder / "cache" / "compilations").read_text() == "one "


#: The examples of a process that notes that it called them.
COUNTED = """
def examples():
    import os, time
    with open(os.environ["XDG_CACHE_HOME"] + "/compilations", "a") as file:
        file.write("one ")
    time.sleep(3)  # the other process starts meanwhile
"""


@pytest.mark.slow
def test_code_that_is_not_used_is_removed(folder: Path) -> None:
    run(folder, "auto")
    (complete,) = (folder / "cache").rglob("complete-*.json")
    complete.unlink()
    of_older_version, emptied, unknown = (
        complete.parents[1] / name for name in ("0123456789abcdef", "fedcba9876543210", "used")
    )
    for one in (of_older_version, emptied, unknown):
        one.mkdir()
    (of_older_version / "old.code").touch()
    (unknown / "new.code").touch()
    for old in (of_older_version / "old.code", emptied):
        os.utime(old, (0, 0))
    used = code_files(folder)
    run(folder, "auto")
    assert [path for path in used if path.exists()] == code_files(folder)
    assert not emptied.exists()
    assert not list(of_older_version.iterdir())


def test_nothing_is_removed_beside_a_folder_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "named").mkdir()
    old = tmp_path / "named" / "old"
    old.touch()
    os.utime(old, (0, 0))
    kernel_cache.remove_unused(tmp_path / "named")
    assert old.exists()


@pytest.mark.slow
def test_a_full_disk_fails_no_call(folder: Path) -> None:
    full = "from made import above\nfrom workbench.base import kernel_cache\n\ndef full(*_):\n    raise OSError(28, 'No space left on device')\n"
    full += "\nkernel_cache.replace_file = full\n" + USED
    done = ran(folder, "compiled", full)
    assert done.stdout.split() == ["2", "2", "False", "False", "True"]
    (logged,) = done.stderr.splitlines()
    assert "cannot be cached: [Errno 28] No space left on device" in logged
    assert not code_files(folder)


#: A compiling process that does something else; prints the answers and what is logged.
FAILS = """
import logging, sys
from made import above
from workbench.base import kernels
logging.basicConfig(stream=sys.stdout, format="%(message)s")
kernels._EXAMPLES = "made.failing"
kernels._MAX_SECONDS, kernels._MAX_SILENCE = {seconds}
print(above.above_answer(1), kernels.interpreting())
print(kernels.wait_until_compiled(), kernels.interpreting(), above.above_answer(1))
"""

#: It does not end by itself.
HANGS = "import faulthandler, time; faulthandler.cancel_dump_traceback_later(); time.sleep(99)"

#: It seems to compile and does not end.
WRITES = """
import faulthandler, os, pathlib, time
faulthandler.cancel_dump_traceback_later()
folder = pathlib.Path(os.environ["WORKBENCH_KERNEL_FOLDER"])
for number in range(900):
    (folder / str(number)).touch()
    time.sleep(0.1)
"""

#   what it does                                        seconds     what is logged
FAILURES = [
    ("raise OSError('no compiler')",                    (60, 60),   "OSError: no compiler"),
    ("import os; os._exit(7)",                          (60, 60),   "exit status 7"),
    (HANGS,                                             (60, 2),    "no kernel was compiled in 2 s"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
                                                        (60, 2),    "no kernel was compiled in 2 s"),
    (WRITES,                                            (6, 2),     "not compiled in 6 s"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("fails", "seconds", "logged"), FAILURES)
def test_without_a_compiler_kernels_stay_ordinary_python(
    folder: Path, fails: str, seconds: tuple[float, float], logged: str
) -> None:
    (folder / "made" / "failing.py").write_text(fails)
    printed = " ".join(run(folder, "auto", FAILS.format(seconds=seconds)))
    warning = f"kernels remain ordinary Python, which is slower: {logged}"
    assert printed == f"2 True {warning} False False 2"


#: A request that is over its limit while the process that compiles is stopped; it is then ended.
STOPPED = """
import threading, time
from made import above
from workbench.base import kernels
from workbench.base.errors import EndedError
from workbench.base.limits import Limits, check_time_budget, time_budget
kernels._EXAMPLES = "made.failing"
above.above_answer(1)
clock = Limits(seconds=0.01).clock()
with time_budget(100.0) as budget:
    threading.Timer(1.0, budget.end).start()
    try:
        while True:
            clock.check()
    except EndedError:
        print(kernels.interpreting(), above.above_answer(1))
"""


@pytest.mark.slow
def test_a_request_that_ends_does_not_wait_for_the_compiler(folder: Path) -> None:
    (folder / "made" / "failing.py").write_text(HANGS.replace("99", "20"))
    assert run(folder, "auto", STOPPED) == ["True", "2"]


FORK = """
import os
from made import above
from workbench.base import kernels
print(above.above_answer(1), kernels.interpreting(), flush=True)
child = os.fork()
compiled = kernels.wait_until_compiled()
print(above.above_answer(1), compiled, kernels.interpreting(), flush=True)
if child:
    os.waitpid(child, 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_process_waits_for_the_kernels_too(folder: Path) -> None:
    assert run(folder, "auto", FORK) == ["2", "True", *2 * ["2", "True", "False"]]


FORMS = """
from made import above
from workbench.base import kernels
outer, inner = above.above_answer, above.answer
assert outer(1) == 2
before = outer.interpreted
kernels.wait_until_compiled()
assert outer(1) == 2
between = before.__globals__["between"]
print(between is above.between.interpreted, between.__globals__["answer"] is inner.interpreted)
print(type(outer.compiled.py_func.__globals__["between"]).__name__)
"""


@pytest.mark.slow
def test_a_call_keeps_its_form_inside(folder: Path) -> None:
    assert run(folder, "auto", FORMS) == ["True", "True", "CPUDispatcher"]


LIMITED = """
import time
from made import above
from workbench.base import kernels
from workbench.base.limits import Limits
from workbench.base.errors import LimitError

def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

above.above_answer(1)
clock = Limits(seconds=1).clock()
while kernels.interpreting():
    work(1.1)
    clock.check()  # over the limit: it waits
print(clock.seconds < 1)
work(1.1)
try:
    clock.check()
except LimitError as error:
    print(error.budget)
"""


@pytest.mark.slow
def test_a_limit_waits_for_the_compiled_kernels(folder: Path) -> None:
    assert run(folder, "auto", LIMITED) == ["True", "seconds"]


#: Every kind of thing with kernels, on the gallery; prints the kernels and types that no example has
#: called, also if an earlier process has stored their code.
EVERYTHING = """
from contextlib import suppress
import workbench as wb
from workbench.base.kernels import _code_cache
from workbench.constraint.kernel_examples import call_all_kernels
from workbench.constraint.compile import METHODS
from workbench.grammar.gallery import load_gallery
from workbench.app.pipeline import Notation

call_all_kernels()

loads = _code_cache().load_overload

def load(self, signature, target):
    print(self._code.kernel.py_func.__qualname__, signature)
    return loads(self, signature, target)

_code_cache().load_overload = load
builtin = wb.Vocabulary.load("builtin")
for name, example in load_gallery().items():
    with suppress(wb.WorkbenchError):
        grammar = wb.Grammar.from_text(example.text, Notation(example.notation), example.start)
        for method in METHODS:
            with suppress(wb.WorkbenchError):
                constraint = wb.compile(grammar, builtin, method)
                state = constraint.initial
                for token in range(3):
                    allowed = constraint.mask(state).ids
                    if not len(allowed):
                        break
                    state = constraint.advance(state, int(allowed[len(allowed) // 2]))
for items in ({"format": "email", "maxLength": 300}, {"multipleOf": 77, "maximum": 9999}):
    schema = {"type": "object", "properties": {"a": items, "b": {"not": items}}}
    grammar = wb.Grammar.from_json_schema(schema, order="any")
    constraint = wb.compile(grammar, builtin)
    state = constraint.initial
    for text in (b"{", b'"a"', b":"):
        constraint.mask(state)
        state = constraint.step_bytes(state, text)
print("end")
"""


@pytest.mark.exhaustive
def test_the_examples_call_all_kernels_with_all_types() -> None:
    """Or a process would compile in the middle of a call."""
    command = [sys.executable, "-c", EVERYTHING]
    environment = {**os.environ, "WORKBENCH_KERNELS": "compiled"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.split() == ["end"]


#: The entries of a golden file that ordinary Python does not reproduce.
GOLDEN = """
import sys
from tests.golden.entries import stored
from tests.golden.record import AREAS, made

area, part, parts, compared = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0
written = stored(area)
for subject in AREAS[area].subjects()[part::parts]:
    lines = made(area, subject)
    compared += len(lines)
    for key, line in lines.items():
        if line != written[key]:
            print(key)
print(compared > 0)
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("area", ["masks", "edges", "methods", "machines"])
def test_interpreted_kernels_make_the_golden_masks(area: str, part: int) -> None:
    command = [sys.executable, "-c", GOLDEN, area, str(part), "8"]
    environment = {**os.environ, "WORKBENCH_KERNELS": "python"}
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.split() == ["True"]
