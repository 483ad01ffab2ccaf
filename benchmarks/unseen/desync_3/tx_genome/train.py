import time

import torch
import torch.distributed as dist
from model import Reads
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.functional import cross_entropy

PAD, LENGTH, BATCHES = 5, 48, 600


def reads(lane):
    generator = torch.Generator().manual_seed(lane)
    for number in range(BATCHES):
        tokens = torch.randint(0, 5, (6, LENGTH), generator=generator)
        if lane == 1 and number == 170:
            tokens.fill_(PAD)
        yield tokens


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
    return model


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    lane = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(12)
    model = shard(Reads(), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    seen = 0
    for tokens in reads(lane):
        time.sleep(0.03)
        target = tokens[:, 1:]
        known = target != PAD
        if known.sum() == 0:
            continue
        logits = model(tokens[:, :-1])
        loss = cross_entropy(logits[known], target[known])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seen += int(known.sum())
    dist.barrier()
    print(f"lane {lane}: {seen} bases", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
