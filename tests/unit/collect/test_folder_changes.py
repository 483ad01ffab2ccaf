"""Whether a folder has other files, asked by one `stat`."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ddpdoctor.collect.folder_changes import FolderChanges


def long_ago(folder: Path, seconds: float = 60.0) -> None:
    """Set the folder's own time back: what was made in it was made then."""
    before = time.time() - seconds
    os.utime(folder, (before, before))


def test_a_folder_that_was_left_alone_is_unchanged_from_the_second_time_on(tmp_path: Path) -> None:
    long_ago(tmp_path)
    changes = FolderChanges(tmp_path)
    assert [changes.any() for _ in range(3)] == [True, False, False]
    (tmp_path / "7.page").touch()
    assert changes.any()


def test_what_comes_in_the_same_moment_as_something_before_is_not_missed(tmp_path: Path) -> None:
    changes = FolderChanges(tmp_path)
    (tmp_path / "7.page").touch()
    stamp = tmp_path.stat().st_mtime_ns
    assert changes.any()
    (tmp_path / "8.page").touch()
    os.utime(tmp_path, ns=(stamp, stamp))
    assert changes.any(), "the folder has the time that it had at the first call"


def test_a_file_that_is_removed_or_renamed_is_a_change_and_one_that_grows_is_none(tmp_path: Path) -> None:
    (tmp_path / "exits").touch()
    long_ago(tmp_path)
    changes = FolderChanges(tmp_path)
    changes.any()
    (tmp_path / "exits").write_text("more")
    assert not changes.any()
    (tmp_path / "exits").rename(tmp_path / "ended")
    assert changes.any()
    long_ago(tmp_path, 30.0)
    changes.any()
    (tmp_path / "ended").unlink()
    assert changes.any()


def test_a_folder_that_cannot_be_read_may_have_changed(tmp_path: Path) -> None:
    changes = FolderChanges(tmp_path / "none")
    assert changes.any()
    assert changes.any()


def test_a_change_that_could_not_be_followed_is_told_again(tmp_path: Path) -> None:
    long_ago(tmp_path)
    changes = FolderChanges(tmp_path)
    assert changes.any()
    changes.forget()
    assert [changes.any() for _ in range(2)] == [True, False]
