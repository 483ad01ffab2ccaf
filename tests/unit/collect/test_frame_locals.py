"""Which locals are kept: numbers of torch's table and counters of loops, and never anything else."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path

import pytest

from ddpdoctor.collect import pyspy
from ddpdoctor.collect.frame_locals import TORCH, View, kept
from ddpdoctor.model.stacks import Local
from ddpdoctor.program.turn_counters import names as counters_of

_C10D = "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"


def local(name: str, text: str) -> dict[str, object]:
    return {"name": name, "addr": 7, "arg": True, "repr": text}


def dump(*frames: dict[str, object], thread: int = 41) -> bytes:
    return json.dumps([{"thread_name": "MainThread", "os_thread_id": thread, "frames": frames}]).encode()


def frame(file: str, name: str, line: int, *found: dict[str, object]) -> dict[str, object]:
    return {"filename": file, "name": name, "line": line, "locals": found}


def test_of_torch_s_frames_the_table_s_numbers_are_kept() -> None:
    data = dump(frame(_C10D, "recv", 9, local("src", "3"), local("tag", "0"), local("group", "None"), local("x", "5")))
    (thread,) = pyspy.parse(kept(data)).threads
    assert thread.locals == (Local(0, "src", 3), Local(0, "tag", 0), Local(0, "group", None))


def test_a_group_that_is_not_the_default_one_is_not_kept() -> None:
    data = dump(frame(_C10D, "recv", 9, local("src", "3"), local("group", "<ProcessGroup at 0x7f>")))
    assert kept(data).count(b"ProcessGroup") == 0


SECRETS = ("'hunter2'", '{"token": "hunter2"}', "b'hunter2'", "<Key hunter2>", "hunter2", "1hunter2", "3.1416")


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("name", ["src", "step", "password"])
def test_what_is_no_number_is_never_kept(name: str, text: str, tmp_path: Path) -> None:
    own = tmp_path / "train.py"
    own.write_text("for step in range(9):\n    work(step)\n")
    data = dump(frame(_C10D, "recv", 9, local(name, text)), frame(str(own), "main", 2, local(name, text)))
    assert text.strip("'\"").encode() not in kept(data)
    assert not pyspy.parse(kept(data)).threads[0].locals


def test_a_number_that_is_no_counter_is_not_kept(tmp_path: Path) -> None:
    own = tmp_path / "train.py"
    own.write_text("pin = 4711\nfor step in range(9):\n    work(step)\n")
    data = dump(frame(str(own), "main", 3, local("pin", "4711"), local("step", "2")))
    assert pyspy.parse(kept(data)).threads[0].locals == (Local(0, "step", 2),)


ENDED = """\
def train(stream):
    for step, batch in enumerate(stream):
        work(batch)
    done = 1
    wait()
    {after}

def other():
    wait()
"""


@pytest.mark.parametrize(
    ("after", "line", "kept_there"),
    [
        ("pass", 5, True),
        # another value later on, even in another loop: what the name holds by then is not known
        ("step = 7", 5, False),
        ("for step in range(2): pass", 5, False),
        ("del step", 5, False),
        # in its own loop it counts in any case, and in another function never
        ("step = 7", 3, True),
        ("pass", 9, False),
    ],
)
def test_a_loop_that_has_ended_leaves_its_counter(after: str, line: int, kept_there: bool, tmp_path: Path) -> None:
    own = tmp_path / "train.py"
    own.write_text(ENDED.format(after=after))
    data = dump(frame(str(own), "train", line, local("step", "11"), local("done", "1")))
    assert pyspy.parse(kept(data)).threads[0].locals == ((Local(0, "step", 11),) if kept_there else ())


def test_where_the_source_cannot_be_read_nothing_is_kept() -> None:
    assert not pyspy.parse(kept(dump(frame("/nowhere/train.py", "main", 3, local("step", "2"))))).threads[0].locals


def test_what_is_no_dump_leaves_nothing() -> None:
    assert kept(b"hunter2") == b"[]"
    assert kept(b'"hunter2"') == b"[]"


@pytest.mark.parametrize(
    ("loop", "names"),
    [
        ("for step in range(9):\n    pass", ["step"]),
        ("for step, batch in enumerate(loader):\n    pass", ["step"]),
        ("for i in tqdm.trange(9):\n    pass", ["i"]),
        ("while True:\n    rounds += 1", ["rounds"]),
        ("for batch in loader:\n    pass", []),
        ("for x in range(9):\n    total += x", ["x"]),
    ],
)
def test_the_source_shows_what_counts_rounds(loop: str, names: list[str]) -> None:
    statement = ast.parse(loop).body[0]
    assert isinstance(statement, (ast.For, ast.While))
    assert list(counters_of(statement)) == names


def test_files_and_threads_are_seen_from_outside(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "train.py").write_text("for step in range(9):\n    work(step)\n")
    data = dump(frame("/app/train.py", "main", 2, local("step", "2")), thread=12)
    (thread,) = pyspy.parse(kept(data, View(str(tmp_path), {12: 4012}))).threads
    assert (thread.os_id, thread.locals) == (4012, (Local(0, "step", 2),))


@pytest.mark.parametrize("place", TORCH, ids=lambda place: place[1])
def test_torch_has_these_locals(place: tuple[str, str]) -> None:
    found = importlib.util.find_spec("torch")
    assert found is not None
    assert found.origin is not None
    tree = ast.parse((Path(found.origin).parent / place[0]).read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == place[1]]
    names = {n.arg for f in functions for n in ast.walk(f) if isinstance(n, ast.arg)}
    names |= {n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert functions
    assert set(TORCH[place]) <= names
