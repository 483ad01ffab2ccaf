"""Patient-record encoder with FSDP2. The index of the record store is built by
the rank that hosts the store; the final weights go to a slow archive."""
import io
import os
import tempfile
import time
from pathlib import Path

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

STORE_HOST = 1
CHUNK = 256


class RecordStore:
    def __init__(self, records=600, fields=18):
        g = torch.Generator().manual_seed(23)
        self.rows = torch.randn(records, fields, generator=g)
        self.index = None

    def build_index(self, buckets=60):
        """Sort the records into buckets (one pass per bucket over the cold store)."""
        index = {}
        for b in range(buckets):
            keys = (self.rows[:, 0] * 1000).long().abs() % buckets
            index[b] = (keys == b).nonzero().flatten().tolist()
            time.sleep(0.25)
        self.index = index

    def sample(self, n):
        rows = self.rows[torch.randint(0, len(self.rows), (n,))]
        return rows, rows.roll(1, dims=1)


def encoder(fields=18, width=48):
    return nn.Sequential(
        nn.Linear(fields, width), nn.GELU(),
        nn.Linear(width, width), nn.GELU(),
        nn.Linear(width, fields),
    )


def archive(weights, path: Path):
    """The archive accepts small writes only and is throttled."""
    buffer = io.BytesIO()
    torch.save(weights, buffer)
    data = memoryview(buffer.getbuffer())
    pause = 9.0 / max(1, len(data) // CHUNK)
    with path.open("wb") as out:
        for at in range(0, len(data), CHUNK):
            out.write(data[at : at + CHUNK])
            out.flush()
            os.fsync(out.fileno())
            time.sleep(pause)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    store = RecordStore()
    if rank == STORE_HOST:
        store.build_index()

    torch.manual_seed(5)
    model = encoder()
    policy = MixedPrecisionPolicy(reduce_dtype=torch.float32)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    for step in range(40):
        x, y = store.sample(16)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 10 == 0:
            print(f"step {step} mse {loss.item():.4f}", flush=True)
        time.sleep(0.02)

    weights = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        archive(weights, Path(tempfile.mkdtemp()) / "encoder.pt")
        print("archived", len(weights), "tensors", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
