"""The line and the table that `watch` shows below the output of a job, in a real terminal: nothing is mixed, nothing is
left over, whatever the terminal's width, colours and end."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: apt-get install tmux")

#: seconds after which what does not happen will not: many times what a busy machine needs
PATIENCE = 120.0
ROOT = Path(__file__).parents[2]

#: lines of all lengths, as fast as a terminal takes them for a while, with bars that return to the line's start; each
#: is numbered, so that what is missing, torn or doubled is seen
CHATTY = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
number = 0
while time.monotonic() < end:
    for _ in range(5):
        line = f"<{number}>" + "x" * (number % 150)
        if number % 7 == 3:
            sys.stderr.write(f"\\r {number} of it")
            sys.stderr.write("\\r" + " " * 30 + "\\r")
            sys.stderr.flush()
        if number % 11 == 5:
            line = f"\\x1b[31m{line}\\x1b[0m"
        print(line, flush=True)
        number += 1
    time.sleep(0.01)
print(f"said {number}", flush=True)
"""
PROGRAM = """
import sys, time, torch.distributed as dist, torch
dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    if rank == 1 and step == 20:
        time.sleep(6)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    sys.stdout.write(f"<{rank}:{step}>\\n")  # at once: torchrun starts ranks unbuffered, and print writes twice
    time.sleep(0.1)
dist.destroy_process_group()
"""


class Tmux:
    """A terminal with bash in it."""

    def __init__(self, folder: Path, width: int, height: int, environ: dict[str, str]) -> None:
        self._name = f"ddpdoctor-test-{os.getpid()}-{folder.name}"
        self._environ = {**os.environ, **environ, "PYTHONPATH": str(ROOT)}
        shell = "bash --norc --noprofile"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), shell)
        self._tmux("set-option", "-g", "history-limit", "50000")
        # the limit holds for windows that are made after it was set
        self._tmux("new-window", shell)
        self.resize(width, height)

    def _tmux(self, *arguments: str) -> str:
        environ = {name: value for name, value in self._environ.items() if name != "TMUX"}
        done = subprocess.run(["tmux", "-L", self._name, *arguments], env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def run(self, *command: str) -> None:
        self.type("clear; " + shlex.join(command) + "; echo ended with $?", "Enter")

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self, *, color: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *(("-e",) if color else ()))

    def everything(self) -> list[str]:
        """All lines since the start, without those that the terminal has broken at its edge."""
        text = self._tmux("capture-pane", "-p", "-J", "-S", "-")
        return [line.rstrip() for line in text.rstrip().splitlines()]

    def wait_for(self, pattern: str) -> str:
        """The screen once it has the pattern."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, screen := self.screen()):
            assert time.monotonic() < deadline, f"no {pattern!r} in:\n{screen}"
            time.sleep(0.1)
        return screen

    def pane(self) -> psutil.Process:
        return psutil.Process(int(self._tmux("display-message", "-p", "#{pane_pid}")))

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture(params=[60, 100, 160])
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["color", "no-color"])
def color(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "color")


@pytest.fixture
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tmux]:
    width = request.getfixturevalue("width") if "width" in request.fixturenames else 100
    color = "color" not in request.fixturenames or request.getfixturevalue("color")
    terminal = Tmux(tmp_path, width, 30, {} if color else {"NO_COLOR": "1"})
    try:
        terminal.wait_for("[$#]")
        terminal.type("PS1='$ '", "Enter")
        terminal.wait_for(r"\n\$")
        yield terminal
    finally:
        terminal.close()


def watch(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "ddpdoctor", "watch", *arguments)


def chatty(folder: Path, seconds: float) -> tuple[str, ...]:
    program = folder / "chatty.py"
    program.write_text(CHATTY)
    return (sys.executable, str(program), str(seconds))


def said_by_the_job(number: int) -> list[str]:
    return [f"<{i}>" + "x" * (i % 150) for i in range(number)]


def check_everything(lines: list[str]) -> None:
    """The job's lines are whole, in order and once, and what is between them is ours or the shell's, line by line."""
    number = int(next(line for line in lines if line.startswith("said ")).split()[1])
    ours = [line for line in lines if not line.startswith("<")]
    assert [line for line in lines if line.startswith("<")] == said_by_the_job(number)
    known = r"\$.*|said \d+|ddpdoctor: (watching|the job ended) .*|ended with \d+|"
    assert [line for line in ours if not re.fullmatch(known, line)] == []
    assert sum(line.startswith("ddpdoctor: ") for line in ours) == 2


@pytest.mark.parametrize("look", ["line", "--live"])
def test_nothing_is_mixed_and_nothing_is_left(
    terminal: Tmux, width: int, color: bool, look: str, tmp_path: Path
) -> None:
    terminal.run(*watch(*(() if look == "line" else (look,)), "--", *chatty(tmp_path, 5)))
    shown = terminal.wait_for(r"no rank yet after [23] s").rstrip("\n").splitlines()
    row = next(i for i, line in enumerate(shown) if line.startswith("ddpdoctor │"))
    assert row == 30 - (1 if look == "line" else 7)
    assert all(line.startswith(("<", "x", " ", "ddpdoctor: ", "$")) or not line for line in shown[: row - 1])
    # a bold word, whatever the terminal says besides of colours that a line before it has left
    assert bool(re.search(r"\x1b\[(0;)?1m(\x1b\[[0-9;]+m)*ddpdoctor", terminal.screen(color=True))) == color
    last = terminal.wait_for("ended with 0")
    assert "ddpdoctor │" not in last
    check_everything(terminal.everything())


def test_a_killed_watch_leaves_nothing_either(terminal: Tmux, tmp_path: Path) -> None:
    terminal.run(*watch("--", *chatty(tmp_path, 8)))
    terminal.wait_for("no rank yet")
    (watcher,) = terminal.pane().children()
    watcher.send_signal(signal.SIGKILL)
    terminal.wait_for(r"said \d+")
    terminal.type("", "Enter")
    deadline = time.monotonic() + 60.0
    while not any("ended with 137" in line for line in terminal.everything()) and time.monotonic() < deadline:
        time.sleep(0.2)  # the shell has its say when it gets the processor
    lines = terminal.everything()
    assert not any("no rank yet" in line for line in lines)
    assert any("ended with 137" in line for line in lines)
    # the shell's own lines come while the job still writes
    number = int(next(line for line in lines if "said " in line).rpartition("said ")[2])
    assert [line.replace("$ ", "") for line in lines if "<" in line] == said_by_the_job(number)
    for _ in range(60):
        terminal.type("", "Enter")
    # the last row scrolls again
    assert len(terminal.wait_for(r"(\$\s*\n){29}").rstrip().splitlines()) == 30


def test_another_size_of_the_terminal(terminal: Tmux, tmp_path: Path) -> None:
    """While the size changes, the terminal breaks its lines anew: what counts is that nothing of ours stays."""
    terminal.run(*watch("--", *chatty(tmp_path, 8)))
    terminal.wait_for(r"no rank yet after \d+ s")
    for size in ((120, 40), (80, 20), (100, 30), (100, 8), (100, 30)):
        terminal.resize(*size)
        time.sleep(0.7)
    assert terminal.wait_for("ddpdoctor │").rstrip("\n").splitlines()[29].startswith("ddpdoctor │")
    terminal.wait_for("ended with 0")
    assert not any("no rank yet" in line for line in terminal.everything())


def test_ctrl_z_and_fg(terminal: Tmux, tmp_path: Path) -> None:
    # or the kernel drops what the terminal has not yet read when a key sends a signal (termios(3), NOFLSH)
    terminal.type("stty noflsh", "Enter")
    terminal.run(*watch("--", *chatty(tmp_path, 12)))
    terminal.wait_for("no rank yet")
    terminal.type("C-z")
    assert "no rank yet" not in terminal.wait_for(r"Stopped[\s\S]*\$ ?\n?")
    terminal.type("fg", "Enter")
    terminal.wait_for("no rank yet")
    terminal.wait_for("the job ended")
    # the terminal shows the key where the job's text has got to
    lines = [line.replace("^Z", "") for line in terminal.everything()]
    assert not any("no rank yet" in line for line in lines)
    number = int(next(line for line in lines if line.startswith("said ")).split()[1])
    assert [line for line in lines if line.startswith("<")] == said_by_the_job(number)


def test_a_watch_in_the_background_draws_nothing(terminal: Tmux, tmp_path: Path) -> None:
    terminal.type("clear; " + shlex.join(watch("--", *chatty(tmp_path, 4))) + " & wait; echo ended with $?", "Enter")
    terminal.wait_for(r"<\d+>")
    deadline = time.monotonic() + PATIENCE
    while "ended with" not in (screen := terminal.screen()):
        assert "ddpdoctor │" not in screen
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_ranks_steps_and_who_is_behind(terminal: Tmux, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(tmp_path / "train.py"))
    terminal.run(*watch("--", *launcher))
    terminal.wait_for(r"ddpdoctor │ 2 ranks │ \d+ steps │ .* steps/s │ last progress \d s ago")
    terminal.wait_for(r"last progress [3-6] s ago │ rank 1 behind for [2-6] s")
    terminal.wait_for("ended with 0")
    lines = terminal.everything()
    assert sorted(line for line in lines if line.startswith("<")) == sorted(
        f"<{rank}:{step}>" for rank in (0, 1) for step in range(40)
    )
    (end,) = (line for line in lines if "the job ended" in line)
    # who was waited for in general may follow: beside a load one rank comes late more often than by chance
    assert re.search(r"\(2 ranks, 1 process group, 40 steps, longest wait \d+ s, for rank 1[,)]", end), end
