"""Output that cannot be written is rejected before the job starts, with one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddpdoctor.cli.output_paths import check_file, check_folder
from ddpdoctor.errors import UsageError


def test_places_that_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "manifest.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    (tmp_path / "old.json").write_text("{}")
    for file in (None, Path("r.json"), tmp_path / "old.json", Path("empty/r.json")):
        check_file(file, "--json")
    for folder in (None, Path("new"), Path("a/b/c"), Path("empty"), tmp_path / "earlier"):
        check_folder(folder, "--bundle")


@pytest.mark.parametrize(
    ("path", "said"),
    [("", "neither empty"), (".", "neither empty"), ("sub", "is a folder"), ("no/such/r.json", "mkdir -p no/such")],
)
def test_a_report_needs_a_file_in_a_folder(
    path: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    with pytest.raises(UsageError) as refused:
        check_file(Path(path), "--json")
    assert said in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize(
    ("path", "said"),
    [(".", "neither empty"), ("file", "is a file"), ("full", "contains other files"), ("file/b", "is not a folder")],
)
def test_a_bundle_needs_a_folder_of_its_own(
    path: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "results.csv").write_text("")
    with pytest.raises(UsageError, match=said):
        check_folder(Path(path), "--bundle")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_refuses(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    for check in (check_file, check_folder):
        with pytest.raises(UsageError, match="cannot be written to"):
            check(tmp_path / "new", "--json")


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for check in (check_file, check_folder):
        with pytest.raises(UsageError, match="has been removed"):
            check(Path("r.json"), "--json")
        check(tmp_path / "r.json", "--json")
