"""What launch commands say, as people type them."""

from __future__ import annotations

import pytest

from ddpdoctor.checkup import launch_options
from ddpdoctor.checkup.machine import Launch

DIRECT = {"MASTER_ADDR": "10.1.1.1", "MASTER_PORT": "29600", "LOCAL_WORLD_SIZE": "2"}


@pytest.mark.parametrize(
    ("command", "environ", "ranks", "nodes", "address", "port"),
    [
        ("torchrun --nproc-per-node 8 --nnodes=2 --master-addr n0 --master-port 29500 a.py", {}, 8, 2, "n0", 29500),
        ("torchrun --nproc_per_node=4 --nnodes 1:3 --rdzv_endpoint [::1]:29400 a.py", {}, 4, 3, "::1", 29400),
        ("torchrun --nproc-per-node gpu a.py --nproc-per-node 3", {}, None, 1, "", None),
        ("torchrun --standalone --nproc-per-node 2 a.py", DIRECT, 2, 1, "", None),
        ("torchrun --rdzv-endpoint node0 a.py", {}, None, 1, "", None),
        ("accelerate launch --num_processes 16 --num_machines 2 --main_process_ip n0 a.py", {}, 8, 2, "n0", None),
        ("python a.py --master-port 1", DIRECT, 2, 1, "10.1.1.1", 29600),
        ("torchrun --nnodes 0 --master-port 99999999999 --nproc-per-node", {}, None, 1, "", None),
        ("", {}, None, 1, "", None),
    ],
)
def test_the_options_of_a_launch(
    command: str, environ: dict[str, str], ranks: int | None, nodes: int, address: str, port: int | None
) -> None:
    words = tuple(command.split())
    assert launch_options.read(words, environ) == Launch(words, ranks, nodes, address, port)
