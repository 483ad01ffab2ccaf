"""Captures of real processes, written, damaged, and read again."""

from __future__ import annotations

import json
import stat
import tempfile
import time
from pathlib import Path

import pytest

from ddpdoctor.collect import bundle
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, PartKind
from ddpdoctor.collect.gather import take_sample
from ddpdoctor.errors import DoctorError, InputError
from ddpdoctor.model.evidence import Source, SourceFile, Timing
from ddpdoctor.model.processes import Exit
from tests.unit.collect.conftest import Start, worker
from tests.unit.collect.test_gather import RANK


@pytest.fixture
def capture(start: Start) -> Capture:
    """Two samples of a rank."""
    with tempfile.TemporaryDirectory(prefix="ddp-") as made:
        rank = worker(start(RANK, made).pid)
        samples = tuple(take_sample((rank,), Path(made), deadline=30) for _ in range(2))
    now = time.monotonic()
    return Capture(
        samples=samples,
        timing=Timing(started=now - 9, last_progress=now - 5, detected=now - 1, collected=now),
        exits=(Exit(rank.pid, -9, now),),
        code={"/job/train.py": SourceFile("/job/train.py", "x = 'caf\udce9'\n", changed=True)},
        command=("torchrun", "--token", "hunter2", "train.py"),
        versions={"torch": "2.13.0"},
        environment={"A": "why"},
    )


def test_what_is_read_is_what_was_written(capture: Capture, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b", capture, '{"report": 1}')
    read = bundle.read(tmp_path / "b")
    assert read.samples == capture.samples
    assert (read.timing, read.exits, read.code) == (capture.timing, capture.exits, capture.code)
    assert read.command == ("torchrun", "--token", "[redacted]", "train.py")
    assert assemble(read) == assemble(capture)


def test_nobody_else_may_read_it(capture: Capture, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b", capture, "{}")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "b").rglob("*") if path.is_file()}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "b").rglob("*") if path.is_dir()}
    assert (modes, folders | {stat.S_IMODE((tmp_path / "b").stat().st_mode)}) == ({0o600}, {0o700})
    assert "hunter2" not in "".join(path.read_text(errors="replace") for path in (tmp_path / "b").rglob("*.json"))


def test_a_newer_verdict_replaces_the_older_at_once(capture: Capture, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b", capture, '"old"')
    bundle.write(tmp_path / "b", capture, '"new"')
    assert (tmp_path / "b" / "report.json").read_text() == '"new"'
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_folder_of_somebody_else_is_left_alone(capture: Capture, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").write_text("years of work")
    with pytest.raises(DoctorError, match="cannot be written"):
        bundle.write(tmp_path / "b", capture)
    assert [path.name for path in tmp_path.rglob("*")] == ["b", "thesis.tex"]


def test_a_missing_part_is_a_gap(capture: Capture, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b", capture)
    rank = capture.samples[1].workers[0]
    (tmp_path / "b" / "samples" / "1" / f"{rank.pid}.stacks.json").unlink()
    read = bundle.read(tmp_path / "b")
    assert PartKind.STACKS not in {part.kind for part in read.samples[1].parts}
    (gap,) = (gap for gap in read.samples[1].gaps if gap.source is Source.STACKS)
    assert "missing from the bundle" in gap.reason


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (b"", "damaged"),
        (b"{", "damaged"),
        (b"[]", "schema None"),
        (b'{"schema": "ddpdoctor.bundle/9"}', "'ddpdoctor.bundle/9' is not"),
        (b'{"schema": "ddpdoctor.bundle/1"}', "no samples"),
        (b'{"schema": "ddpdoctor.bundle/1", "samples": [1]}', "damaged"),
        (b'{"schema": "ddpdoctor.bundle/1", "samples": 7}', "damaged"),
        (b"[" * 100_000, "damaged"),
    ],
)
def test_a_damaged_manifest_is_one_line(manifest: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(manifest)
    with pytest.raises(InputError, match=said) as raised:
        bundle.read(tmp_path)
    assert "\n" not in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("name", ["../../7.page", "/etc/7.page", "7.exe", "7.page/../x", ""])
def test_a_crafted_bundle_names_no_file_outside(name: str, capture: Capture, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b", capture)
    manifest = tmp_path / "b" / "manifest.json"
    loaded = json.loads(manifest.read_text())
    loaded["samples"][0]["parts"][0]["file"] = name
    manifest.write_text(json.dumps(loaded))
    with pytest.raises(InputError, match="is not the name of a part"):
        bundle.read(tmp_path / "b")


def test_a_link_in_a_crafted_bundle_is_not_followed(capture: Capture, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b", capture)
    secret = tmp_path / "secret"
    secret.write_text("[]")
    rank = capture.samples[0].workers[0]
    stacks = tmp_path / "b" / "samples" / "0" / f"{rank.pid}.stacks.json"
    stacks.unlink()
    stacks.symlink_to(secret)
    read = bundle.read(tmp_path / "b")
    assert PartKind.STACKS not in {part.kind for part in read.samples[0].parts}
