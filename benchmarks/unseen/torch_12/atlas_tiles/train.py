"""Land use of map tiles with FSDP2; after each stage rank 0 packs the weights in a process of its own."""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

PACK = """
import pathlib, sys, time, zlib
path = pathlib.Path(sys.argv[1])
data = path.read_bytes()
for level in range(1, 10):
    time.sleep(float(sys.argv[2]) / 9)
    packed = zlib.compress(data, level)
path.with_suffix(".z").write_bytes(packed)
print(len(packed))
"""


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x):
        return x + self.mix(x) * torch.sigmoid(self.gate(x))


class TileNet(nn.Module):
    def __init__(self, width=40, classes=6):
        super().__init__()
        self.stages = nn.Sequential(Stage(width), Stage(width))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.stages(x))


def pack(state, folder, stage, seconds):
    path = pathlib.Path(folder) / f"stage_{stage}.pt"
    torch.save(state, path)
    command = [sys.executable, "-c", PACK, str(path), str(seconds)]
    for attempt in range(3):
        # the first try reads a file that is still being copied
        source = command if attempt else command[:3] + [str(path) + ".copy", str(seconds)]
        done = subprocess.run(source, capture_output=True, text=True)
        if done.returncode == 0:
            return int(done.stdout)
        time.sleep(1.0)
    raise RuntimeError(done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pack-seconds", type=float, default=7.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = TileNet()
    for stage in model.stages:
        fully_shard(stage, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    g = torch.Generator().manual_seed(rank)
    mix = torch.randn(40, 6, generator=torch.Generator().manual_seed(8))
    folder = tempfile.mkdtemp() if rank == 0 else None
    for stage in range(args.stages):
        for _ in range(args.steps):
            x = torch.randn(16, 40, generator=g)
            loss = nn.functional.cross_entropy(model(x), (x @ mix).argmax(1))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = get_model_state_dict(model, options=options)
        if rank == 0:
            size = pack(state, folder, stage, args.pack_seconds)
            print(f"stage {stage}: {loss.item():.4f}, {size} bytes", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
