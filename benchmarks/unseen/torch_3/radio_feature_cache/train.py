import io
import os
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn as nn

from cache import FeatureCache

dist.init_process_group("gloo")
RANK, WORLD = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1234)
WORK = [tempfile.mkdtemp(prefix="radio_")]
dist.broadcast_object_list(WORK, src=0)

cache = FeatureCache(os.path.join(WORK[0], "features"), clips=96)
cache.ensure()
features = torch.tensor(cache.rows())
labels = (features.sum(1) > features.sum(1).median()).long()

net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.2)


def average_gradients():
    for p in net.parameters():
        dist.all_reduce(p.grad)
        p.grad /= WORLD


def slow_save(path, chunk=2048):
    """The results volume is throttled: many small writes with an fsync each."""
    buffer = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "features": features}, buffer)
    data = buffer.getvalue()
    with open(path + ".part", "wb") as f:
        for start in range(0, len(data), chunk):
            f.write(data[start:start + chunk])
            f.flush()
            os.fsync(f.fileno())
            time.sleep(0.6)
    os.replace(path + ".part", path)


STEPS = 40
for step in range(STEPS):
    pick = torch.randint(0, len(features), (8,), generator=torch.Generator().manual_seed(step * WORLD + RANK))
    loss = nn.functional.cross_entropy(net(features[pick]), labels[pick])
    opt.zero_grad()
    loss.backward()
    average_gradients()
    opt.step()
    time.sleep(0.03)
    if step == STEPS // 2:
        if RANK == WORLD - 1:
            slow_save(os.path.join(WORK[0], "model.pt"))
        dist.barrier()
    if step % 10 == 0 and RANK == 0:
        print(step, round(loss.item(), 4), flush=True)

dist.barrier()
if RANK == 0:
    shutil.rmtree(WORK[0])
dist.destroy_process_group()
