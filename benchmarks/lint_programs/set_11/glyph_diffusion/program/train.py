import copy
import os
import sys
import tomllib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from diffusion import Denoiser, Schedule
from glyphs import build_loader
from hooks import EmaHook, LossHook, PreviewHook, SaveHook


class Trainer:
    def __init__(self, cfg, hooks):
        self.cfg, self.hooks = cfg, hooks
        self.rank = dist.get_rank()
        local = int(os.environ["LOCAL_RANK"])
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", local) if cuda else torch.device("cpu")
        torch.manual_seed(cfg["seed"])
        net = Denoiser(timesteps=cfg["timesteps"]).to(self.device)
        self.ema = copy.deepcopy(net).requires_grad_(False)
        self.net = DistributedDataParallel(net, device_ids=[local] if cuda else None)
        self.schedule = Schedule(cfg["timesteps"], self.device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=cfg["lr"])
        self.loader = build_loader(cfg)
        self.step = 0
        torch.manual_seed(cfg["seed"] + 1 + self.rank)  # other noise on each rank

    def call(self, event):
        for hook in self.hooks:
            getattr(hook, event)(self)

    def run(self):
        for self.epoch in range(self.cfg["epochs"]):
            self.loader.sampler.set_epoch(self.epoch)
            self.batches = iter(self.loader)
            for self.images in self.batches:
                loss = self.schedule.loss(self.net, self.images.to(self.device))
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.optimizer.step()
                self.loss = loss.detach()
                self.step += 1
                self.call("after_step")
            self.call("after_epoch")


def main(path):
    with open(path, "rb") as handle:
        cfg = tomllib.load(handle)
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    os.makedirs(cfg["out"], exist_ok=True)
    hooks = [EmaHook(cfg["ema"]), PreviewHook(**cfg["preview"]), SaveHook(), LossHook()]
    Trainer(cfg, hooks).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.toml")
