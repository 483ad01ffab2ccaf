"""`watch` does not affect a job: same status, same output, same signals, whatever fails in ddpdoctor."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.e2e.job import forked, torchrun

PROGRAMS = Path(__file__).parent / "programs"
FIXTURES = Path(__file__).parents[2] / "fixtures"
WATCH = [sys.executable, "-m", "ddpdoctor", "watch"]
QUICK = {**os.environ, "OMP_NUM_THREADS": "1"}
#: seconds after which what does not happen will not: many times what a busy machine needs
PATIENCE = 900.0


def run(command: list[str], env: Mapping[str, str] = QUICK) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=dict(env), capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL
    )


def not_ours(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("ddpdoctor: ")]


@pytest.mark.parametrize("status", [0, 3])
def test_status_and_output_of_a_plain_program(status: int) -> None:
    program = [sys.executable, "-c", f"import sys; print('out'); print('err', file=sys.stderr); sys.exit({status})"]
    alone, watched = run(program), run([*WATCH, "--", *program])
    assert watched.returncode == alone.returncode == status
    assert watched.stdout == alone.stdout
    assert not_ours(watched.stderr) == alone.stderr.splitlines()


def test_quiet_says_nothing_of_a_healthy_job() -> None:
    assert run([*WATCH, "--quiet", "--", sys.executable, "-c", "pass"]).stderr == ""


def test_death_by_signal_is_told_as_a_shell_tells_it() -> None:
    program = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    assert run([*WATCH, "--", *program]).returncode == 128 + signal.SIGKILL


def exits_are_the_jobs_own(count: int) -> None:
    command = torchrun(PROGRAMS / "small_job.py", 2)
    alone = run(command)
    assert alone.returncode == 0, alone.stderr
    with ThreadPoolExecutor(3) as three:
        for watched in three.map(lambda _: run([*WATCH, "--", *command]), range(count)):
            assert watched.returncode == 0, watched.stderr
            assert watched.stdout == alone.stdout
            assert not_ours(watched.stderr) == not_ours(alone.stderr)


def test_healthy_exits() -> None:
    exits_are_the_jobs_own(2)


def test_two_hundred_healthy_exits() -> None:
    exits_are_the_jobs_own(200)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_signals_are_forwarded_once(number: signal.Signals) -> None:
    with started([*WATCH, "--", sys.executable, str(PROGRAMS / "signal_counter.py")]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE)
        assert out == f"[('{number.name}', 1)]\n"
        assert process.returncode == 7


def test_a_signal_that_is_ignored_stays_so() -> None:
    """Under nohup(1) no process receives the hang-up."""
    with started(["nohup", *WATCH, "--", sys.executable, str(PROGRAMS / "signal_counter.py")]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
        assert out == "[('SIGTERM', 1)]\n"


def test_a_signal_that_asks_for_a_look_does_not_reach_the_job() -> None:
    command = [*WATCH, "--dump-signal", "USR1", "--", sys.executable, str(PROGRAMS / "signal_counter.py")]
    with started(command) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGUSR2)
        out, _ = process.communicate(timeout=PATIENCE)
        assert out == "[('SIGUSR2', 1)]\n"


def test_sigquit_looks_and_the_job_goes_on_also_behind_a_script_that_ignores_it(tmp_path: Path) -> None:
    """A shell starts `watch ... &` with SIGQUIT ignored; the job keeps it so."""
    end, ignored = tmp_path / "end", tmp_path / "ignored"
    note = f"import signal; open({str(ignored)!r}, 'w').write(str(signal.getsignal(3) == signal.SIG_IGN))"
    job = ["sh", "-c", f'{sys.executable} -c "{note}"; exec "$@"', "sh"]
    job += torchrun(PROGRAMS / "small_job.py", 2, "--until", str(end))
    with started(["sh", "-c", "trap '' QUIT; exec \"$@\"", "sh", *WATCH, "--", *job]) as process:
        assert wait_until(lambda: len(ranks_of(process.pid)) == 2)
        process.send_signal(signal.SIGQUIT)
        assert process.stderr is not None
        assert any("job left running" in line for line in process.stderr)
        end.touch()
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    assert ignored.read_text() == "True"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_stands_still_is_looked_at_before_it_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    """Nothing is proven here, and --stall-after is long: the signal is the first occasion to see anything."""
    job = torchrun(PROGRAMS / "standing.py", 2)
    with started([*WATCH, "--stall-after", "10m", "--bundle", str(tmp_path / "bundle"), "--", *job]) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["standing\n"] * 2
        time.sleep(15.0)  # six seconds of standing, and what a look for a proof takes on a busy machine
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert f"looked at before {number.name} was passed on to the job" in err
    assert "wait_for" in err
    assert process.returncode not in (0, 124, 125)


def test_interrupting_a_distributed_job_ends_all_of_it(tmp_path: Path) -> None:
    with started([*WATCH, "--", *torchrun(PROGRAMS / "small_job.py", 2, "--until", str(tmp_path / "end"))]) as process:
        assert wait_until(lambda: len(ranks_of(process.pid)) == 2)
        ranks = ranks_of(process.pid)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode not in (0, 124, 125)
    assert wait_until(lambda: not any(rank.is_running() for rank in ranks))


def ranks_of(launcher: int) -> list[psutil.Process]:
    """Those of the processes that it has started, by whatever way, that are ranks of a group."""
    found = []
    for process in psutil.Process(launcher).children(recursive=True):
        with suppress(psutil.Error):
            found += [process] if "RANK" in process.environ() else []
    return found


def test_the_job_outlives_a_killed_supervisor(tmp_path: Path) -> None:
    done = tmp_path / "done"
    program = f"import time, pathlib; print('ready', flush=True); time.sleep(2); pathlib.Path({str(done)!r}).touch()"
    with started([*WATCH, "--", sys.executable, "-c", program]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
        process.wait(timeout=PATIENCE)
        assert wait_until(done.exists)


def test_a_run_directory_that_vanishes(tmp_path: Path) -> None:
    program = tmp_path / "vandal.py"
    source = (PROGRAMS / "small_job.py").read_text()
    vandal = 'import os, shutil\nshutil.rmtree(os.environ["_DDPDOCTOR_RUN"], ignore_errors=True)\n'
    program.write_text(source.replace('if __name__ == "__main__":\n', vandal + 'if __name__ == "__main__":\n'))
    watched = run([*WATCH, "--", *forked(program, 2)])
    assert watched.returncode == 0, watched.stderr
    assert "gradient" in watched.stdout


def test_no_place_for_pages(tmp_path: Path) -> None:
    """/proc takes no folders, not even root's; then the job is watched from outside only."""
    command = forked(PROGRAMS / "small_job.py", 2)
    inner = (
        "import sys, tempfile; from ddpdoctor.launch import run_directory; "
        "tempfile.tempdir = run_directory.LAST_RESORT = '/proc'; "
        f"from ddpdoctor.cli.main import main; sys.exit(main(['watch', '--', *{command!r}]))"
    )
    env = {name: value for name, value in QUICK.items() if name != "XDG_RUNTIME_DIR"}
    watched = run([sys.executable, "-c", inner], env)
    assert watched.returncode == 0, watched.stderr
    assert "watching from outside only" in watched.stderr
    assert "gradient" in watched.stdout


def test_a_hang_is_still_told_without_py_spy(tmp_path: Path) -> None:
    """An interpreter in a folder without py-spy, and a PATH without it: the ranks' own stacks prove the deadlock."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(Path(sys.executable).resolve())
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    root = str(Path(__file__).parents[2])
    env = {**QUICK, "PATH": "/usr/bin:/bin", "PYTHONPATH": f"{root}:{packages}"}
    command = [str(python), "-m", "ddpdoctor", "watch", "--on-hang", "stop", "--stall-after", "8"]
    written = tmp_path / "report.json"
    fixture = forked(FIXTURES / "uneven-inputs" / "broken.py", 3)
    watched = run([*command, "--json", str(written), "--bundle", str(tmp_path / "b"), "--", *fixture], env)
    assert watched.returncode == 124, watched.stderr
    report = json.loads(written.read_text())
    assert any("py-spy is not installed (pip install py-spy)" in note for note in report["notes"])
    assert (report["deadlock"], report["diagnoses"][0]["code"]) == ("proven", "DD201")


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may attach to anything")
def test_a_hang_is_still_told_where_nobody_may_attach(tmp_path: Path) -> None:
    """The ranks' own stacks prove the deadlock, and the report says that they are, and why."""
    unprivileged = ["setpriv", "--bounding-set=-sys_ptrace"] if os.geteuid() == 0 else []
    written = tmp_path / "report.json"
    options = ["--on-hang", "stop", "--stall-after", "8", "--json", str(written), "--bundle", str(tmp_path / "b")]
    job = torchrun(PROGRAMS / "undumpable.py", 3, str(FIXTURES / "rank-conditional-collective" / "broken.py"))
    watched = run([*unprivileged, *WATCH, *options, "--", *job])
    assert watched.returncode == 124, watched.stderr
    report = json.loads(written.read_text())
    assert report["outcome"] == "hang"
    assert report["deadlock"] == "proven"
    assert (report["diagnoses"][0]["code"], report["diagnoses"][0]["culprits"]) == ("DD203", [0])
    assert not [gap for gap in report["gaps"] if gap["source"] == "stacks"]
    (note,) = (note for note in report["notes"] if "may not attach" in note)
    assert note.startswith("stacks of ranks 0-2 are those that the probe took")
    assert all(rank["location"]["file"].endswith("broken.py") for rank in report["ranks"])


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]).returncode != 0:
        pytest.skip("a small disk needs the right to mount")
    yield folder
    run(["umount", str(folder)])


def test_a_full_disk_under_the_bundle(full_disk: Path) -> None:
    fixture = forked(FIXTURES / "uneven-inputs" / "broken.py", 2)
    watched = run([*WATCH, "--on-hang", "stop", "--bundle", str(full_disk / "bundle"), "--", *fixture])
    assert watched.returncode == 124, watched.stderr
    assert "the bundle cannot be written" in watched.stderr
    assert "DD201" in watched.stderr
    assert list(full_disk.iterdir()) == []


class Terminal:
    """A command in its own session and terminal."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, QUICK)
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait_for(self, text: str, limit: float = PATIENCE) -> bool:
        deadline = time.monotonic() + limit
        while text not in self.text and time.monotonic() < deadline:
            if select.select([self._file], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self._file, 4096).decode(errors="replace")
                except OSError:
                    break
        return text in self.text

    def status(self, limit: float = PATIENCE) -> int:
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            self.wait_for("\0never", 0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self._file)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError(f"it did not end; it said:\n{self.text}")


def test_ctrl_c_in_a_terminal_reaches_the_job_once() -> None:
    terminal = Terminal([*WATCH, "--", sys.executable, str(PROGRAMS / "signal_counter.py")])
    assert terminal.wait_for("ready"), terminal.text
    terminal.type("\x03")
    assert terminal.wait_for("[('SIGINT', 1)]"), terminal.text
    assert terminal.status() == 7


def test_ctrl_backslash_in_a_terminal_does_not_reach_the_job() -> None:
    terminal = Terminal([*WATCH, "--", sys.executable, str(PROGRAMS / "signal_counter.py")])
    assert terminal.wait_for("ready"), terminal.text
    terminal.type("\x1c")
    assert terminal.wait_for("job left running"), terminal.text
    terminal.type("\x03")
    assert terminal.wait_for("[('SIGINT', 1)]"), terminal.text
    assert terminal.status() == 7


def test_a_job_that_reads_the_terminal_gets_it() -> None:
    program = "name = input('name? '); print('hello', name)"
    terminal = Terminal([*WATCH, "--", sys.executable, "-c", program])
    assert terminal.wait_for("name? "), terminal.text
    terminal.type("world\n")
    assert terminal.wait_for("hello world"), terminal.text
    assert terminal.status() == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--", "no-such-program-here"], 127, "command not found"),
        (["--", "/etc/passwd"], 126, "/etc/passwd"),
        (["--stall-after", "soon", "--", "true"], 2, "'soon' is not a duration"),
        (["--nccl-timeout", "-5", "--", "true"], 2, "--nccl-timeout"),
        (["torchrun", "train.py"], 2, "--"),
        (["--"], 2, "no command"),
        (["--", ""], 2, "no command"),
        (["--nccl-timeout", "", "--", "true"], 2, "'' is not a duration"),
        (["--on-hang", "", "--", "true"], 2, "no action given"),
        (["--on-hang", "'open", "--", "true"], 2, "no closing quotation"),
        (["--on-hang", "no-such-program-here -v", "--", "true"], 2, "no-such-program-here: command not found"),
        (["--json", "no/such/folder/report.json", "--", "true"], 2, "no such folder"),
    ],
)
def test_bad_input_gets_one_line(arguments: list[str], status: int, said: str) -> None:
    done = run([*WATCH, *arguments])
    assert done.returncode == status
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


class started:  # noqa: N801 - reads as a verb: `with started(command) as process`
    """A command with pipes in its own session, killed with everything that it started."""

    def __init__(self, command: list[str]) -> None:
        self._command = command

    def __enter__(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            self._command,
            env=QUICK,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self._process

    def __exit__(self, *_error: object) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.communicate()


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_the_programs_are_there() -> None:
    assert shutil.which("py-spy", path=str(Path(sys.executable).parent))
    assert {p.name for p in PROGRAMS.glob("*.py")} >= {"small_job.py", "signal_counter.py"}
