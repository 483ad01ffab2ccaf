import os
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from speech.model import VoicedEncoder, recordings

STEPS = int(os.environ.get("STEPS", "50"))


def setup():
    dist.init_process_group("gloo")
    torch.manual_seed(8)
    model = DistributedDataParallel(VoicedEncoder())
    return model, torch.optim.NAdam(model.parameters(), lr=2e-3)


def loop(model, optim):
    rank = dist.get_rank()
    for step, (frames, voiced, labels) in enumerate(recordings(rank, STEPS)):
        loss = cross_entropy(model(frames, voiced), labels)
        optim.zero_grad()
        loss.backward()
        optim.step()
        time.sleep(0.02)
        if step % 10 == 9 and rank == 0:
            print(f"[{step + 1}/{STEPS}] {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    loop(*setup())
    dist.destroy_process_group()
