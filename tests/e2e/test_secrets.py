"""What a watched job says, has as arguments, and keeps in variables: none of it is in what `watch` leaves behind."""

from __future__ import annotations

import stat
from pathlib import Path

import psutil

from tests.e2e.job import Report, forked, watch

PROGRAM = Path(__file__).parent / "programs" / "secret_failure.py"
SECRETS = (b"hunter2-in-a-url", b"sk-ABCDEFGHIJKLMNOPQRSTUVWX", b"tok-of-the-environment")


def test_no_secret_leaves_the_job_and_nothing_is_open_to_others(tmp_path: Path) -> None:
    listening: list[psutil.Process] = []

    def told(report: Report) -> bool:
        for process in psutil.process_iter():
            if "ddpdoctor" in " ".join(_command(process)) and str(tmp_path) in " ".join(_command(process)):
                listening.extend(process for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN)
        return bool(report["outcome"] == "hang")

    url, key, token = (secret.decode() for secret in SECRETS)
    arguments = ["--api-key", key, "--url", f"https://ada:{url}@data.example/set"]
    # the job prints its exception itself where a rank outlives the other one for a moment when all are stopped
    apart = ["sh", "-c", 'exec "$@" 2> "$0"', str(tmp_path / "stderr of the job")]
    command = [*apart, "env", f"DATA_TOKEN={token}", *forked(PROGRAM, 2, *arguments)]
    page = tmp_path / "page.html"
    run = watch(command, tmp_path, "--on-hang", "stop", "--html", str(page), until=told, timeout=120)
    assert run.report["outcome"] == "hang", run.explain()
    files = [path for path in run.bundle.rglob("*") if path.is_file()]
    assert files
    for path in [*files, page]:
        held = path.read_bytes()
        assert [secret for secret in SECRETS if secret in held] == [], path
    for path in [run.bundle, *run.bundle.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert [secret for secret in SECRETS if secret.decode() in run.stderr] == []
    assert listening == []


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
