import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset

from registry import DATASETS, HOOKS, MODELS


@DATASETS.register
class Shapes(Dataset):
    def __init__(self, num, size):
        self.num, self.size = num, size

    def __len__(self):
        return self.num

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        wh = torch.randint(6, 16, (2,), generator=g)
        xy = (torch.rand(2, generator=g) * (self.size - wh)).long()
        img = 0.3 * torch.randn(1, self.size, self.size, generator=g)
        img[:, xy[1]:xy[1] + wh[1], xy[0]:xy[0] + wh[0]] += 1
        return {"img": img, "box": torch.cat([xy, xy + wh]).float() / self.size}


@MODELS.register
class CenterBox(nn.Module):
    def __init__(self, width):
        super().__init__()
        c = width
        self.backbone = nn.Sequential(nn.Conv2d(1, c, 3, 2, 1), nn.ReLU(), nn.Conv2d(c, c, 3, 2, 1), nn.ReLU(),
                                      nn.Conv2d(c, c, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.head = nn.LazyLinear(4)

    def forward(self, img):
        return self.head(self.backbone(img)).sigmoid()

    def train_step(self, batch):
        pred = self(batch["img"])
        l1 = F.l1_loss(pred, batch["box"])
        lo, hi = torch.max(pred[:, :2], batch["box"][:, :2]), torch.min(pred[:, 2:], batch["box"][:, 2:])
        inter = (hi - lo).clamp_min(0).prod(-1)
        area = lambda b: (b[:, 2:] - b[:, :2]).clamp_min(0).prod(-1)
        iou = (inter / (area(pred) + area(batch["box"]) - inter + 1e-6)).mean()
        return {"loss": 5 * l1 + 1 - iou, "l1": l1.detach(), "iou": iou.detach()}


class Hook:
    def before_iter(self, runner): ...
    def after_iter(self, runner): ...
    def after_epoch(self, runner): ...


@HOOKS.register
class LrHook(Hook):
    def __init__(self, warmup):
        self.warmup = warmup

    def before_iter(self, runner):
        for g in runner.optim.param_groups:
            g["lr"] = g["initial_lr"] * min(1.0, (runner.iter + 1) / self.warmup)


@HOOKS.register
class LogHook(Hook):
    def __init__(self, every):
        self.every = every

    def after_iter(self, runner):
        if runner.iter % self.every:
            return
        keys = sorted(runner.outputs)
        vals = torch.stack([runner.outputs[k].detach() for k in keys])
        dist.all_reduce(vals)
        if dist.get_rank() == 0:
            vals = vals / dist.get_world_size()
            print(f"iter {runner.iter} " + " ".join(f"{k} {v:.4f}" for k, v in zip(keys, vals.tolist())), flush=True)


@HOOKS.register
class SaveHook(Hook):
    def __init__(self, path):
        self.path = path

    def after_epoch(self, runner):
        if dist.get_rank() == 0:
            torch.save({"model": runner.bare_model.state_dict(), "epoch": runner.epoch}, self.path)
