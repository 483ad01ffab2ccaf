"""Impure. Files that platforms read: Kubernetes' termination message, GitHub's job summary."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ddpdoctor.model.report import Report
from ddpdoctor.notify import message
from ddpdoctor.report import markdown, terminal
from ddpdoctor.report.terminal_text import Screen

#: bytes that the kubelet keeps of a termination message, and GitHub of a step's summary
_TERMINATION, _SUMMARY = 4096, 1 << 20


def write_termination_log(
    report: Report, environ: Mapping[str, str], path: Path = Path("/dev/termination-log")
) -> bool:
    """What `kubectl describe pod` shows when the container ends: the verdict in at most 4 KB. False outside of
    Kubernetes, and where there is no such file.

    https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
    """
    if "KUBERNETES_SERVICE_HOST" not in environ or not path.exists() or not os.access(path, os.W_OK):
        return False
    text = terminal.render(report, Screen(width=100), directory="")
    path.write_bytes(_cut(f"{message.headline(report)}\n\n{text}", _TERMINATION))
    return True


def append_job_summary(report: Report, environ: Mapping[str, str], *, directory: str = "") -> bool:
    """The verdict on the page of a GitHub Actions run. False outside of it.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions#adding-a-job-summary
    """
    named = environ.get("GITHUB_STEP_SUMMARY")
    if environ.get("GITHUB_ACTIONS") != "true" or not named:
        return False
    path = Path(named)
    written = path.stat().st_size if path.exists() else 0
    data = markdown.render(report, directory=directory).encode("utf-8", "replace")
    if written + len(data) + 1 > _SUMMARY or (path.exists() and not stat.S_ISREG(path.stat().st_mode)):
        return False
    with path.open("ab") as file:
        file.write(data + b"\n")
    return True


def _cut(text: str, most: int) -> bytes:
    """The beginning in at most so many bytes, without half a character."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").encode()
