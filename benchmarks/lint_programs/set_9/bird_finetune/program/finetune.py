"""Fine-tunes a bird-song classifier, opening the backbone stage by stage.

torchrun --standalone --nproc_per_node=2 finetune.py --config config.toml --weights audionet.pt
"""
import argparse
import os
import tomllib

import torch
import torch.distributed as dist
from torch.utils.data import TensorDataset

from backbone import AudioNet, freeze_stages
from callbacks import GradualUnfreeze, PrintMetrics
from trainer import Trainer


def songs(n, seed, classes=6, length=256):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, classes, (n,), generator=g)
    t = torch.linspace(0, 1, length)
    phase = torch.rand(n, 1, generator=g) * 6.28
    wave = torch.sin(2 * torch.pi * (5 + 6 * label[:, None]) * t + phase)
    return TensorDataset(wave + 0.5 * torch.randn(n, length, generator=g), label)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.toml")
    parser.add_argument("--weights")
    parser.add_argument("--out", default="birds.pt")
    args = parser.parse_args()
    with open(args.config, "rb") as f:
        cfg = tomllib.load(f)

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(cfg["seed"])

    net = AudioNet()
    if args.weights:
        state = torch.load(args.weights, map_location="cpu", weights_only=True)
        net.load_state_dict({k: v for k, v in state.items() if not k.startswith("head.")}, strict=False)
    freeze_stages(net, cfg["frozen_stages"])

    trainer = Trainer(net, cfg, device, [GradualUnfreeze(cfg["unfreeze_at"]), PrintMetrics()])
    trainer.fit(songs(480, seed=1), songs(121, seed=2))
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
