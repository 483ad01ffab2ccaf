"""What the probe says of where the job meets: nothing on one node, little and without waiting on several."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ddpdoctor.probe import meeting_place

if TYPE_CHECKING:
    import torch.distributed as dist

LAUNCHED = {"LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "node-0", "MASTER_PORT": "29500"}


@pytest.fixture
def store() -> dist.TCPStore:
    import torch.distributed as dist

    return dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=30), wait_for_workers=False)


def notes(run: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in run.glob(f"{meeting_place.NOTE}*")]


def test_before_the_rendezvous_the_launcher_says_where(tmp_path: Path) -> None:
    environ = {**LAUNCHED, "TORCHELASTIC_RUN_ID": "my run/1", "TORCHELASTIC_RESTART_COUNT": "3"}
    meeting_place.note_before(str(tmp_path), environ, (3, 4))
    meeting_place.note_before(str(tmp_path), environ, (2, 4))
    (note,) = notes(tmp_path)
    assert (note["host"], note["port"], note["rank"]) == ("node-0", 29500, 3)
    assert (note["namespace"], note["world_size"]) == ("ddpdoctor/1/my_run_1.3.4", 4)
    assert (note["pid"], note["python"]) == (os.getpid(), sys.executable)


@pytest.mark.parametrize("environ", [{**LAUNCHED, "LOCAL_WORLD_SIZE": "4"}, {}])
def test_on_one_node_nothing_is_said(environ: Mapping[str, str], tmp_path: Path, store: dist.TCPStore) -> None:
    for pid in range(4):
        (tmp_path / f"{pid}.page").touch()
    before = store.num_keys()
    meeting_place.note_before(str(tmp_path), environ, (1, 4))
    meeting_place.register(str(tmp_path), environ, (1, 4), store)
    assert notes(tmp_path) == []
    assert store.num_keys() == before


@pytest.mark.parametrize("environ", [LAUNCHED, {}])
def test_the_first_rank_of_a_watcher_registers_below_all_prefixes(
    environ: Mapping[str, str], tmp_path: Path, store: dist.TCPStore
) -> None:
    import torch.distributed as dist

    (tmp_path / "1.page").touch()
    wrapped = dist.PrefixStore("default_pg", dist.PrefixStore("/worker/attempt_0", store))
    meeting_place.register(str(tmp_path), environ, (3, 4), wrapped)
    meeting_place.register(str(tmp_path), environ, (2, 4), wrapped)
    first = 2 if environ else 3
    found = store.get(f"ddpdoctor/1/job.0.4/node/{first}")
    assert len(found) <= 200
    told = json.loads(found)
    assert (told["host"], told["rank"]) == (os.uname().nodename, first)
    assert told["clock"] == meeting_place.clock() != ""
    assert not store.check(["ddpdoctor/1/job.0.4/node/2" if first == 3 else "ddpdoctor/1/job.0.4/node/3"])
    (note,) = notes(tmp_path)
    assert (note["host"], note["port"]) == ("127.0.0.1", store.port)


def test_a_store_that_nobody_else_can_connect_to_is_said(tmp_path: Path) -> None:
    import torch.distributed as dist

    meeting_place.register(str(tmp_path), {}, (0, 4), dist.HashStore())
    (note,) = notes(tmp_path)
    assert (note["host"], note["port"]) == meeting_place.NOWHERE
