"""What conditions depend on, in programs of many styles: tests/dependence_cases/*.md.

A comment at the end of a line says what the condition that begins there depends on (`#: rank`), or that the line runs
on some ranks only (`#: only rank`). `#: unknown, is data` is one that is not found out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ddpdoctor.lint.dependence import Conditions
from ddpdoctor.model.dependence import DependsOn
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.program.program import Program

CASES = Path(__file__).parents[2] / "dependence_cases"
_WORDS = {
    "rank": DependsOn.RANK,
    "signal": DependsOn.SIGNAL,
    "clock": DependsOn.CLOCK,
    "random": DependsOn.RANDOM,
    "files": DependsOn.FILES,
    "data": DependsOn.RANK_DATA,
    "unknown": DependsOn.UNKNOWN,
    "uniform": DependsOn.UNIFORM,
}
_FILE = re.compile(r"^```python (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SAID = re.compile(r"#: (only )?(\w+)")


def _programs() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for page in sorted(CASES.glob("*.md")):
        for section in page.read_text(encoding="utf-8").split("## ")[1:]:
            title = f"{page.stem}: {section.partition(chr(10))[0]}"
            found[title] = {f"/job/{name}": text for name, text in _FILE.findall(section)}
    return found


PROGRAMS = _programs()


def conditions(files: dict[str, str], *, budget: int = 20_000) -> Conditions:
    return Conditions(Program({path: SourceFile(path, text) for path, text in files.items()}), budget)


@pytest.mark.parametrize("title", PROGRAMS)
def test_case(title: str) -> None:
    files = PROGRAMS[title]
    program, start = conditions(files), ("/job/train.py", files["/job/train.py"].count("\n"))
    wrong = []
    for path, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            said = _SAID.search(line)
            if said is None:
                continue
            if said[1]:
                found = {condition.dependence.on for condition in program.around(path, number, [start])}
                right = _WORDS[said[2]] in found
            else:
                told = program.of(path, number, [start])
                right = told is not None and told.on is _WORDS[said[2]]
            if not right:
                wrong.append((path, number, line.strip()))
    assert not wrong


RANKS = """\
import torch.distributed as dist
rank = dist.get_rank()
if {condition}:
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("rank == 0", (True, False, False, False)),
        ("rank", (False, True, True, True)),
        ("rank == dist.get_world_size() - 1", (False, False, False, True)),
        ("rank % 2 == 0", (True, False, True, False)),
        ("rank == 0 and chance()", (None, False, False, False)),
    ],
)
def test_on_which_ranks_it_holds(condition: str, holds: tuple[bool | None, ...]) -> None:
    told = conditions({"/job/train.py": RANKS.format(condition=condition)}).of("/job/train.py", 3)
    assert told is not None
    assert (told.on, told.ranks, told.local) == (DependsOn.RANK, holds, False)


def test_the_rank_on_the_node_is_told_apart() -> None:
    text = "import os\nif int(os.environ['LOCAL_RANK']) == 0:\n    save()\n"
    told = conditions({"/job/train.py": text}).of("/job/train.py", 2)
    assert told is not None
    assert told.local


SHARED = """\
import torch.distributed as dist
def maybe(flag):
    if flag:
        dist.barrier()
def alike():
    maybe(True)
def alone():
    maybe(dist.get_rank() == 0)
alike()
alone()
"""


def test_the_callers_say_which_of_several_ways_it_is() -> None:
    program = conditions({"/job/train.py": SHARED})
    path = "/job/train.py"
    told = [program.of(path, 3, callers) for callers in (((path, 6), (path, 9)), ((path, 8), (path, 10)), ())]
    assert [one and one.on for one in told] == [DependsOn.UNIFORM, DependsOn.RANK, DependsOn.RANK]
    assert told[2] is not None
    assert told[2].ever == {DependsOn.UNIFORM, DependsOn.RANK}


SIGNAL = """\
import signal, threading
class Preemption:
    def __init__(self):
        self.requested = threading.Event()
        signal.signal(signal.SIGUSR1, self.note)
    def note(self, number, frame):
        self.requested.set()
preemption = Preemption()
while not preemption.requested.is_set():
    step()
"""


def test_a_flag_and_its_handler_are_named() -> None:
    told = conditions({"/job/train.py": SIGNAL}).of("/job/train.py", 9)
    assert told is not None
    assert (told.on, told.flag, told.handler) == (DependsOn.SIGNAL, "self.requested", "note")
    # WHEN something else sets it as well THEN it tells nothing of a signal
    other = SIGNAL.replace("    def note", "    def cancel(self):\n        self.requested = done()\n    def note")
    told = conditions({"/job/train.py": other}).of("/job/train.py", 11)
    assert told is not None
    assert told.on is DependsOn.UNKNOWN


def test_what_is_not_simulated_any_more_is_said() -> None:
    files = PROGRAMS["plain-torch: helpers, properties of arguments and a decorator in another file"]
    program = conditions(files, budget=0)
    assert program.of("/job/train.py", 40) is None
    assert program.exhausted
    assert not conditions(files).exhausted


def test_a_line_that_is_no_condition_or_not_there() -> None:
    program = conditions({"/job/train.py": SHARED, "/job/broken.py": "def f(:\n"})
    for path, line in (("/job/train.py", 4), ("/job/train.py", 99), ("/job/broken.py", 1), ("/other.py", 1)):
        assert program.of(path, line) is None
    assert program.around("/job/train.py", 99) == ()


FILLED = """\
def report(scores, labelled):
    found = {"intent": 1.0}
    if labelled.any():
        found["topic"] = 2.0
    for name, value in found.items():
        log(name, value)
    for name in ("a", "b"):
        log(name, 0)
"""


def test_a_mapping_that_is_filled_on_a_condition_is_not_alike_everywhere() -> None:
    program = conditions({"/job/train.py": FILLED})
    told = [program.of("/job/train.py", line) for line in (5, 7)]
    assert [one and one.on for one in told] == [DependsOn.UNKNOWN, DependsOn.UNIFORM]
