"""Land-cover from satellite tiles, hybrid-sharded (2 replicas x 2 shards) with fully_shard."""
import io
import pathlib
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

CLASSES = 6


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class LandCover(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        self.stem = nn.Linear(4 * 8 * 8, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.stem(x.flatten(1))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class TileIndex:
    """Cloud masks are computed once per orbit; descending orbits have no cached masks."""

    def __init__(self, orbit, cached):
        self.gen = torch.Generator().manual_seed(orbit)
        self.masks = {}
        if not cached:
            self._compute(orbit)

    def _compute(self, orbit, tiles=50):
        for t in range(tiles):
            self.masks[t] = torch.rand(8, 8, generator=self.gen) > 0.1
            time.sleep(0.25)
            if t % 20 == 0:
                print(f"orbit {orbit}: cloud mask {t}/{tiles}", flush=True)

    def batch(self, n=8):
        x = torch.randn(n, 4, 8, 8, generator=self.gen)
        return x, x.mean((1, 2, 3)).mul(20).long().clamp(-3, 2) + 3


def write_slowly(state, path):
    buf = io.BytesIO()
    torch.save(state, buf)
    data = buf.getvalue()
    with open(path, "wb") as f:
        for at in range(0, len(data), 2048):
            f.write(data[at:at + 2048])
            f.flush()
            time.sleep(0.1)
    return len(data)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "shard"))
    torch.manual_seed(0)
    model = LandCover()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    index = TileIndex(orbit=rank, cached=rank != 3)
    for step in range(40):
        x, y = index.batch()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        time.sleep(0.03)
        if step % 10 == 0 and rank == 0:
            print(f"step {step} ce {loss.item():.3f}", flush=True)
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        size = write_slowly(state, pathlib.Path(tempfile.mkdtemp(prefix="landcover-")) / "model.pt")
        print(f"{size} bytes written", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
