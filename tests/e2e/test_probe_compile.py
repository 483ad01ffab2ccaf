"""torch.compile makes the same graphs, node for node, with the probe as without."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from ddpdoctor.collect.page import decode_page, read_file
from tests.e2e.job import forked

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "probed" / "compiled.py"


def graphs(result: Path, more: dict[str, str]) -> dict[str, list[int]]:
    done = subprocess.run(
        forked(PROGRAM, 2, str(result)),
        env={**os.environ, "OMP_NUM_THREADS": "1", **more},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[int]] = json.loads(result.read_text())
    return found


def test_as_many_graphs_and_nodes_with_the_probe_as_without(tmp_path: Path) -> None:
    alone = graphs(tmp_path / "alone.json", {})
    with tempfile.TemporaryDirectory(prefix="ddp-") as run:
        plugin = ROOT / "ddpdoctor" / "probe" / "plugin"
        probed = graphs(tmp_path / "probed.json", {"_DDPDOCTOR_RUN": run, "PYTHONPATH": str(plugin)})
        pages = [decode_page(read_file(path)) for path in Path(run).glob("*.page")]
    assert probed == alone
    assert all(count > 0 for count, _, _ in alone.values()), "every case compiles something"
    # The eager parts were counted all the same.
    assert [page.counters.forwards for page in pages] == [9 + 3, 9 + 3]
    assert all(page.counters.backward_entered == page.counters.backward_left > 0 for page in pages)
