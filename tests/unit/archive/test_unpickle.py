"""Pickles of plain data are read; pickles that name code, or are damaged, are refused with one line."""

from __future__ import annotations

import collections
import os
import pickle
from pathlib import Path

import pytest

from ddpdoctor.archive.unpickle import RefusedError, load


class _Runs:
    """Writes a file when it is unpickled by who does not look."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


def test_plain_data_is_read() -> None:
    data = {"entries": [{"a": (1, 2.5, None, True, "x", b"y")}], "n": -(1 << 40)}
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        if protocol in (0, 1, 2):
            data["entries"] = [{"a": (1, 2.5, None, True, "x")}]  # bytes need a function before protocol 3
        assert load(pickle.dumps(data, protocol)) == data


def test_code_is_not_run(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(RefusedError, match="a pickle that names code is refused"):
            load(pickle.dumps(_Runs(target), protocol))
    assert not target.exists()


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(collections.OrderedDict(a=1)),
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x02cbuiltins\neval\nq\x00X\x01\x00\x00\x001\x85R.",
        b"(i__main__\nThing\n.",
        b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x02Pname\n.",
        b"\x80\x02K\x01Q.",
        b"\x80\x02\x82\x01.",
        b"\x80\x05\x97.",
        b"\x80\x02}}b.",
    ],
)
def test_every_way_to_code_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        load(data)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("length", range(0, 60, 7))
def test_a_cut_pickle_is_refused(length: int) -> None:
    data = pickle.dumps({"entries": [1, 2, 3], "version": "2.10", "more": "x" * 20}, 2)
    with pytest.raises(RefusedError, match="damaged or truncated"):
        load(data[:length])


def test_a_name_in_a_message_cannot_break_the_line() -> None:
    with pytest.raises(RefusedError) as refused:
        load(b"\x80\x04\x8c\x05o\x1b[2J\x8c\x03a\nb\x93.")
    assert "\x1b" not in str(refused.value)
    assert "\n" not in str(refused.value)
