#!/usr/bin/env python
"""Distils a large fundus-image grader into a mobile one."""
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from distill import AgreementProbe, kd_loss


def grader(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 5),
    )


def synthetic_fundus(count, seed):
    gen = torch.Generator().manual_seed(seed)
    return TensorDataset(
        torch.randn(count, 3, 32, 32, generator=gen), torch.randint(0, 5, (count,), generator=gen)
    )


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    torch.set_num_threads(1)

    teacher = grader(24).eval().requires_grad_(False)
    student = DistributedDataParallel(grader(6))
    probe_images = synthetic_fundus(32, seed=99).tensors[0]
    probe = AgreementProbe(teacher, probe_images, every=18, owner=dist.get_world_size() - 1)

    data = synthetic_fundus(320, seed=1)
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)

    step = 0
    for epoch in range(int(os.environ.get("EPOCHS", "3"))):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            with torch.no_grad():
                soft = teacher(images)
            loss = kd_loss(student(images), soft, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            probe.maybe_run(step, student, rank)
            step += 1
            time.sleep(0.02)
    dist.barrier()
    if rank == 0:
        torch.save(student.module.state_dict(), "/tmp/student_fundus.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
