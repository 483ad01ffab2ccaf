"""A command that cannot be started: the reason, the suggestion, and the exit status that a shell would return."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddpdoctor.errors import DoctorError
from ddpdoctor.launch.supervisor import Job

#: (what is written to ./it, its mode, the command, status, what is said)
CASES = [
    ("", 0o644, "./it", 126, "chmod +x ./it"),
    ("echo", 0o755, "./it", 126, "names no interpreter"),
    ("#!/no/such/program -x\n", 0o755, "./it", 126, "its interpreter /no/such/program does not exist"),
    ("", 0o644, "it.py", 127, "ddpdoctor watch -- torchrun it.py"),
    ("", 0o644, "./it.py", 126, "ddpdoctor watch -- torchrun ./it.py"),
    ("", 0o644, "./gone", 127, "no such file"),
    ("", 0o644, "no-such-program", 127, "is it on PATH?"),
    ("", 0o644, "sh -c true", 127, "without the quotes: `ddpdoctor watch -- sh -c true`"),
    ("", 0o644, "A=1", 127, "ddpdoctor watch -- env A=1 x"),
    ("", 0o644, "/", 126, "a folder"),
]


@pytest.mark.parametrize(("text", "mode", "name", "status", "said"), CASES)
def test_why_and_what_to_type(
    text: str, mode: int, name: str, status: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "it", tmp_path / "it.py"):
        path.write_text(text)
        path.chmod(mode)
    with pytest.raises(DoctorError) as refused, Job((name, "x"), os.environ):
        pass
    assert refused.value.exit_code == status
    assert said in f"{refused.value.message} - {refused.value.hint}"
