"""Mean-teacher segmentation of retinal vessels: few labelled, many unlabelled images."""
import copy
import math

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import clinic
import utils


def build_net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.InstanceNorm2d(8, affine=True), nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1), nn.InstanceNorm2d(8, affine=True), nn.ReLU(),
        nn.Conv2d(8, 2, 1),
    )


def ramp_up(epoch, length=4):
    return math.exp(-5 * (1 - min(epoch, length) / length) ** 2)


@torch.no_grad()
def update_teacher(teacher, student, decay=0.95):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(decay).add_(s, alpha=1 - decay)


def train_one_epoch(student, teacher, loader, optimizer, epoch):
    meters = utils.MeterSet(delimiter="  ")
    for image, target, labelled in meters.log_every(loader, 10, f"Epoch [{epoch}]"):
        logits = student(image + 0.05 * torch.randn_like(image))
        with torch.no_grad():
            pseudo = teacher(image).softmax(1)
        consistency = F.mse_loss(logits.softmax(1), pseudo)
        loss = ramp_up(epoch) * consistency + 1e-3 * logits.pow(2).mean()
        if labelled.any():
            supervised = F.cross_entropy(logits[labelled], target[labelled])
            loss = loss + supervised
            meters.update(supervised=supervised.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_teacher(teacher, student.module)
        meters.update(loss=loss.item(), consistency=consistency.item())
    meters.reduce_over_ranks()
    return {name: meter.mean for name, meter in meters.meters.items()}


def main():
    rank, world_size = utils.init_distributed_mode()
    torch.manual_seed(5)
    net = build_net()
    teacher = copy.deepcopy(net).requires_grad_(False)
    student = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    history = []
    for epoch in range(6):
        data = clinic.epoch_images(clinic=rank, epoch=epoch)
        loader = DataLoader(data, batch_size=4, shuffle=True)
        history.append(train_one_epoch(student, teacher, loader, optimizer, epoch))
        if rank == 0:
            print("averaged stats:", {k: round(v, 4) for k, v in history[-1].items()}, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
