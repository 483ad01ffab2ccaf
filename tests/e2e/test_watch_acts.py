"""What `watch` does with a verdict: stop, run a command, report that the job resumed; and how it reports deaths."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.e2e.job import STARTUP, Run, forked, torchrun, watch
from tests.e2e.sharing import once

PROGRAMS = Path(__file__).parent / "programs"
HANGING = Path(__file__).parents[2] / "fixtures" / "uneven-inputs" / "broken.py"
PATIENCE = STARTUP + 45


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port: int = listener.getsockname()[1]
    return port


def comes(condition: Callable[[], bool], seconds: float = STARTUP) -> bool:
    """Wait for what follows a report; true in any case, since the assertions say what is missing."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    return True


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """A job that hung and was stopped, in a pod of Kubernetes' PyTorchJob; and its program, with pids beside it.

    The address that is notified takes connections and never answers.
    """

    def stop(folder: Path) -> None:
        program, pids = folder / "train.py", str(folder / "pids")
        program.write_text(f"import os\nopen({pids!r}, 'a').write(f'{{os.getpid()}}\\n')\n" + HANGING.read_text())
        command = ["env", "RANK=0", "WORLD_SIZE=1", *torchrun(program, 2)]
        with socket.create_server(("127.0.0.1", 0)) as mute:
            address = f"http://127.0.0.1:{mute.getsockname()[1]}/"
            told = [
                "--html",
                str(folder / "page.html"),
                "--metrics-file",
                str(folder / "job.prom"),
                "--notify-url",
                address,
            ]
            run = watch(command, folder / "run", "--on-hang", "stop", *told, timeout=PATIENCE)
        (folder / "run.pickle").write_bytes(pickle.dumps(run))

    folder = once(tmp_path_factory, "stopped", stop)
    return pickle.loads((folder / "run.pickle").read_bytes()), folder / "train.py"


def test_stop_ends_every_process_of_the_job(stopped: tuple[Run, Path]) -> None:
    run, program = stopped
    assert run.status == 124, run.explain()
    assert run.report["deadlock"] == "proven"
    pids = program.with_name("pids").read_text().split()
    assert len(pids) == 2
    for pid in map(int, pids):
        with suppress(psutil.NoSuchProcess):
            assert str(program) not in psutil.Process(pid).cmdline()


def test_the_verdict_is_a_page_and_metrics_too_whatever_a_receiver_does(stopped: tuple[Run, Path]) -> None:
    run, program = stopped
    page = program.with_name("page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert run.report["diagnoses"][0]["code"] in page
    assert "the ranks part here" in page
    metrics = program.with_name("job.prom").read_text().splitlines()
    assert {"ddpdoctor_running 0", "ddpdoctor_ranks 2", "ddpdoctor_exit_status 124"} <= set(metrics)
    assert any(line.startswith('ddpdoctor_incident{outcome="hang",deadlock="proven"') for line in metrics)
    assert run.stderr.count("cannot notify 127.0.0.1") <= 1


def test_torchrun_in_a_pod_that_sets_rank_for_the_node(stopped: tuple[Run, Path]) -> None:
    """RANK is the node's number there."""
    run, _ = stopped
    assert run.report["deadlock"] == "proven", run.explain()
    assert sorted(rank["rank"] for rank in run.report["ranks"]) == [0, 1]


def test_the_hang_command_gets_the_report_once_and_its_failure_matters_to_nobody(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    command = tmp_path / "tell.sh"
    command.write_text(f'#!/bin/sh\necho "said by the command"\ncp "$2" {notes}.$$\nexit 9\n')
    command.chmod(0o755)
    run = watch(
        forked(HANGING, 2),
        tmp_path / "run",
        "--on-hang",
        f"{command} --urgent",
        timeout=PATIENCE,
        until=lambda report: comes(lambda: any(tmp_path.glob("notes.*"))),
    )
    assert run.report["outcome"] == "hang", run.explain()
    (note,) = tmp_path.glob("notes.*")
    assert json.loads(note.read_text())["diagnoses"][0]["code"] == "DD201"
    assert "said by the command" in run.stderr
    assert "said by the command" not in run.stdout


def test_a_hang_command_that_cannot_be_started_is_one_line(tmp_path: Path) -> None:
    program = tmp_path / "notify.sh"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    run = watch(
        forked(HANGING, 2),
        tmp_path / "run",
        "--on-hang",
        str(program),
        timeout=PATIENCE,
        until=lambda report: comes(lambda: "cannot be started" in (tmp_path / "run" / "stderr").read_text()),
    )
    assert run.stderr.count("ddpdoctor: --on-hang command cannot be started") == 1


def test_a_job_that_moves_on_after_a_report_is_said_to_have_resumed(tmp_path: Path) -> None:
    def cure(_report: object) -> bool:
        found = re.search(r"stopping (\d+)", (tmp_path / "run" / "stdout").read_text())
        assert found
        with suppress(ProcessLookupError):
            os.kill(int(found[1]), signal.SIGCONT)
        return False

    command = forked(PROGRAMS / "pauses.py", 2)
    run = watch(command, tmp_path / "run", "--stall-after", "5", timeout=PATIENCE, until=cure)
    assert run.status == 0, run.explain()
    assert run.reports[0]["outcome"] == "hang"
    assert run.reports[0]["diagnoses"][0]["code"] == "DD244"
    assert run.stderr.count("ddpdoctor: resumed") == 1


def test_a_hang_that_ends_in_its_timeout_stays_the_verdict(tmp_path: Path) -> None:
    """Exceptions of the timeout are not progress, and the rank that raises first is not the culprit."""
    run = watch(torchrun(PROGRAMS / "gives_up.py", 2), tmp_path, timeout=PATIENCE)
    assert run.status == 1
    assert [(report["outcome"], report["deadlock"]) for report in run.reports] == [("hang", "proven")], run.explain()
    assert "resumed" not in run.stderr
    assert "CRASH" not in run.stderr


def test_a_rank_that_is_watchs_own_child_and_is_killed(tmp_path: Path) -> None:
    """Only the supervisor sees how it ended."""
    environ = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
    command = ["env", *(f"{name}={value}" for name, value in environ.items())]
    run = watch([*command, sys.executable, str(PROGRAMS / "last_words.py"), "kill"], tmp_path, timeout=PATIENCE)
    assert run.status == 128 + signal.SIGKILL
    assert run.report["outcome"] == "crash", run.explain()
    assert run.first["code"] == "DD251"
    assert run.first["culprits"] == [0]
    assert "SIGKILL" in run.first["summary"]


def test_after_a_restart_the_last_failure_is_told(tmp_path: Path) -> None:
    command = torchrun(PROGRAMS / "last_words.py", 2, "raise-again", "--culprit", "1")
    command[1:1] = ["--max-restarts", "1"]
    run = watch(command, tmp_path, timeout=PATIENCE + 30)
    assert run.status == 1
    assert run.first["code"] == "DD251", run.explain()
    assert run.first["culprits"] == [1]
    assert "KeyError" in run.first["summary"], run.explain()


@pytest.mark.parametrize(
    ("how", "code", "said"), [("kill", "DD251", "SIGKILL"), ("return", "DD252", "finished with status 0")]
)
def test_a_rank_that_its_launcher_does_not_wait_for_yet(how: str, code: str, said: str, tmp_path: Path) -> None:
    """A launcher that waits for rank 0 first leaves the others zombies when they end."""
    command = [sys.executable, str(PROGRAMS / "by_hand.py"), how]
    run = watch(command, tmp_path, "--stall-after", "6", timeout=PATIENCE)
    assert (run.first["code"], run.first["culprits"]) == (code, [1]), run.explain()
    assert said in run.first["summary"], run.explain()


def test_a_job_that_recovers_is_healthy_and_its_failed_attempt_is_told(tmp_path: Path) -> None:
    command = torchrun(PROGRAMS / "recovering.py", 2)
    command[1:1] = ["--max-restarts", "1"]
    run = watch(command, tmp_path, timeout=PATIENCE + 30)
    assert run.status == 0, run.explain()
    failed, last = run.reports[0], run.reports[-1]
    assert (failed["outcome"], failed["diagnoses"][0]["culprits"]) == ("crash", [1]), run.explain()
    assert "KeyError" in failed["diagnoses"][0]["summary"], run.explain()
    assert last["outcome"] == "healthy", run.explain()
    assert [note for note in last["notes"] if note.startswith("attempt 1 failed: DD251")], run.explain()
    assert "attempt 1 failed; the launcher has started the ranks again" in run.stderr
    assert "(2 ranks, 1 process group); 1 attempt before had failed" in run.stderr


def test_a_healthy_report_is_written_at_the_end(tmp_path: Path) -> None:
    run = watch(forked(PROGRAMS / "small_job.py", 2), tmp_path, timeout=PATIENCE)
    assert run.status == 0
    assert [report["outcome"] for report in run.reports] == ["healthy"]
    assert len(run.report["ranks"]) == 2


@pytest.mark.parametrize("where", ["tick", "examine", "close"])
def test_our_own_failure_is_one_line_and_the_jobs_status_stays(where: str, tmp_path: Path) -> None:
    """A defect of ours, put there on purpose, in the middle of the loop, of a look, and at the end."""
    job = "import sys; print(1, flush=True); sys.stdin.read(); sys.exit(3)"
    inner = (
        "import sys\nfrom ddpdoctor.observe import watcher\n"
        f"def broken(*_, **__): raise RuntimeError('on purpose')\nwatcher.Watcher.{where} = broken\n"
        f"from ddpdoctor.cli.main import main\n"
        f"sys.exit(main(['watch', '--', {sys.executable!r}, '-c', {job!r}]))"
    )
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", inner], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "1\n"
    if where == "examine":
        process.send_signal(signal.SIGQUIT)
    told: list[str] = []
    while where != "close" and not any("on purpose" in line for line in told):
        told.append(process.stderr.readline())
        assert told[-1], "it ended before it failed"
    _, rest = process.communicate(timeout=PATIENCE)
    said = "".join(told) + rest
    assert process.returncode == 3, said
    assert said.count("on purpose") == 1, said
    assert "Traceback" not in said


def test_a_thread_that_an_exception_has_ended_is_told(tmp_path: Path) -> None:
    program = PROGRAMS / "lost_producer.py"
    run = watch(
        forked(program, 2),
        tmp_path,
        *("--stall-after", "6"),
        timeout=PATIENCE,
        until=lambda report: report["outcome"] == "hang",
    )
    assert (run.first["code"], run.first["culprits"]) == ("DD253", [1]), run.explain()
    line = program.read_text().splitlines().index('            raise ValueError("a negative length")  # the reason') + 1
    assert run.first["locations"][0]["line"] == line, run.explain()
    assert "thread 'prefetch' of rank 1 ended with ValueError: a negative length" in run.first["summary"]
    assert "Exception in thread prefetch" in run.stderr, "Python's own report is printed as without us"
    assert "ddpdoctor/probe" not in run.stderr


BARRIER = "dist.monitored_barrier(timeout=timedelta(seconds=5))"


def test_the_rank_that_a_monitored_barrier_names_is_blamed(tmp_path: Path) -> None:
    program = PROGRAMS / "monitored.py"
    run = watch(torchrun(program, 2), tmp_path, timeout=PATIENCE)
    assert run.report["outcome"] == "crash", run.explain()
    assert (run.first["code"], run.first["culprits"]) == ("DD251", [1]), run.explain()
    lines = program.read_text().splitlines()
    barrier, nap = (lines.index(text) + 1 for text in (BARRIER, "        time.sleep(600.0)"))
    assert f"rank 1 did not reach the monitored_barrier at monitored.py:{barrier} in time" in run.first["summary"]
    assert run.first["locations"][0]["line"] == nap, run.explain()


def test_ranks_that_lost_the_probe_are_missed_while_they_run(tmp_path: Path) -> None:
    """Workers that are told their number late, and whose PYTHONPATH the launching program has replaced."""
    run = watch([sys.executable, str(PROGRAMS / "replaces_the_path.py"), "15"], tmp_path, timeout=PATIENCE)
    assert run.status == 0, run.explain()
    told = "ddpdoctor: no rank is seen: 2 processes have loaded torch without the probe: something replaced the"
    assert run.stderr.count(told) == 1, run.explain()
    assert run.stderr.index(told) < run.stderr.index("the job ended")
    assert "extend it: PYTHONPATH=" in run.stderr
    assert "(no rank of a distributed job was seen)" in run.stderr
    assert "no report is written: no rank of a distributed job was seen" in run.stderr
