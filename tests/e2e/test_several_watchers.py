"""Several watchers on one host, as `srun -n 3 ddpdoctor watch` starts them: one for each rank."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from ddpdoctor.repro.catalogue import load_all, root
from tests.e2e.job import MARK, STARTUP, Report, end, read

CASE = next(case for case in load_all(root()) if case.name == "uneven-inputs")


@pytest.mark.parametrize("shared", [False, True])
def test_the_watchers_of_single_ranks_meet(shared: bool, tmp_path: Path) -> None:
    """In the job's own store, or in a folder."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    folder = ["--shared", str(tmp_path / "shared")] if shared else []
    reports = _watched(CASE.broken, CASE.ranks, port, tmp_path, ["--on-hang", "stop", *folder])
    assert [status for status, _ in reports] == [124] * CASE.ranks, [_stderr(tmp_path, rank) for rank in range(3)]
    for _, report in reports:
        assert report["deadlock"] == "proven"
        assert (report["diagnoses"][0]["code"], report["diagnoses"][0]["culprits"]) == (CASE.code, [*CASE.culprits])
        assert not any(rank["state"] == "unseen" for rank in report["ranks"])
    assert (tmp_path / "shared").exists() is shared


def _watched(
    program: Path, ranks: int, port: int, folder: Path, options: Sequence[str]
) -> list[tuple[int | None, Report]]:
    """The status and the report of the watcher of every rank."""
    mark, started = uuid.uuid4().hex, []
    place = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), MARK: mark}
    try:
        for rank in range(ranks):
            own = folder / str(rank)
            own.mkdir()
            environ = {**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"}
            files = ["--json", str(own / "report.json"), "--bundle", str(own / "bundle")]
            command = [sys.executable, "-m", "ddpdoctor", "watch", *files, *options, "--", sys.executable, str(program)]
            with (own / "stdout").open("wb") as out, (own / "stderr").open("wb") as err:
                process = subprocess.Popen(command, stdout=out, stderr=err, env=environ, start_new_session=True)
            started.append(process)
        deadline = time.monotonic() + STARTUP
        while any(one.poll() is None for one in started) and time.monotonic() < deadline:
            time.sleep(0.1)
        texts = [read(folder / str(rank) / "report.json") or "{}" for rank in range(ranks)]
        return [(one.poll(), json.loads(text)) for one, text in zip(started, texts, strict=True)]
    finally:
        for one in started:
            end(one, mark)


def _stderr(folder: Path, rank: int) -> str:
    return (folder / str(rank) / "stderr").read_text(errors="replace")[-2000:]
