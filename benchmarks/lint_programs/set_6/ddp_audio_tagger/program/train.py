import argparse
import dataclasses
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tagger.data import loader
from tagger.run import Config, Run


def cnn6(tags=8):
    def block(i, o):
        return [nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.AvgPool2d(2)]

    return nn.Sequential(
        *block(1, 16), *block(16, 32), nn.AdaptiveAvgPool2d((4, 1)), nn.Flatten(), nn.Linear(128, tags)
    )


@torch.no_grad()
def accuracy(model, data, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    for mel, tag in data:
        pred = model(mel.to(device)).argmax(1)
        stats[0] += (pred == tag.to(device)).sum()
        stats[1] += len(tag)
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def train(cfg):
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device(f"cuda:{local_rank}" if cuda else "cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(cfg.seed)

    run = Run(cfg)
    net = nn.SyncBatchNorm.convert_sync_batchnorm(cnn6()) if cuda else cnn6()
    model = DDP(net.to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    train_data = loader("train", cfg.train_clips, cfg.batch_size)
    val_data = loader("val", cfg.eval_clips, cfg.batch_size)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, cfg.lr * 5, total_steps=cfg.epochs * len(train_data))

    best = -1.0
    for epoch in range(cfg.epochs):
        model.train()
        train_data.sampler.set_epoch(epoch)
        for mel, tag in train_data:
            loss = nn.functional.cross_entropy(model(mel.to(device)), tag.to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
        acc = accuracy(model, val_data, device)
        run.log(epoch=epoch, loss=round(loss.item(), 4), val_acc=round(acc, 4))
        if acc > best:
            best = acc
            run.save_best(model.module, epoch)

    epoch = run.load_best(model.module, device)
    test_acc = accuracy(model, loader("test", cfg.eval_clips, cfg.batch_size), device)
    run.log(best_epoch=epoch, test_acc=round(test_acc, 4))
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for f in dataclasses.fields(Config):
        parser.add_argument(f"--{f.name.replace('_', '-')}", type=type(f.default), default=f.default)
    train(Config(**vars(parser.parse_args())))
