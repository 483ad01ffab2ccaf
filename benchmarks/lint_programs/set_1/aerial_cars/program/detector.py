import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from torch import nn
from torchmetrics import MeanMetric

from criterion import CenterLoss


def conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1), nn.GroupNorm(16, cout), nn.SiLU())


class CarDetector(pl.LightningModule):
    def __init__(self, width=64, trunk_lr=3e-4, head_lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        w = width
        self.s2 = nn.Sequential(conv(3, w, 2), conv(w, w))
        self.s4 = nn.Sequential(conv(w, 2 * w, 2), conv(2 * w, 2 * w))
        self.s8 = nn.Sequential(conv(2 * w, 4 * w, 2), conv(4 * w, 4 * w))
        self.lateral = nn.Conv2d(4 * w, 2 * w, 1)
        self.heat = nn.Sequential(conv(2 * w, w), nn.Conv2d(w, 1, 1))
        self.size = nn.Sequential(conv(2 * w, w), nn.Conv2d(w, 2, 1))
        nn.init.constant_(self.heat[-1].bias, -4.6)
        self.criterion = CenterLoss()
        self.val_error = MeanMetric()

    def forward(self, image):
        a = self.s4(self.s2(image))
        f = a + F.interpolate(self.lateral(self.s8(a)), scale_factor=2.0)
        return self.heat(f).squeeze(1), self.size(f)

    def training_step(self, batch, batch_idx):
        heat, size = self(batch["image"])
        parts = self.criterion(heat, size, batch)
        if not parts:
            return
        for opt in self.optimizers():
            opt.zero_grad()
        self.manual_backward(sum(parts.values()))
        for opt, sched in zip(self.optimizers(), self.lr_schedulers()):
            self.clip_gradients(opt, gradient_clip_val=5.0, gradient_clip_algorithm="norm")
            opt.step()
            sched.step()
        self.log_dict({f"train/{k}": v.detach() for k, v in parts.items()}, prog_bar=True)

    @staticmethod
    def _peaks(heat, threshold=0.3):
        p = torch.sigmoid(heat.float())
        top = F.max_pool2d(p.unsqueeze(1), 3, 1, 1).squeeze(1)
        return (p == top) & (p > threshold)

    def validation_step(self, batch, batch_idx):
        heat, _ = self(batch["image"])
        found = self._peaks(heat).flatten(1).sum(1)
        there = batch["mask"].flatten(1).sum(1)
        self.val_error.update((found - there).abs().float())

    def on_validation_epoch_end(self):
        # torchmetrics reduces over the processes
        self.log("val/count_error", self.val_error.compute(), prog_bar=True)
        self.val_error.reset()

    def configure_optimizers(self):
        trunk = [p for m in (self.s2, self.s4, self.s8) for p in m.parameters()]
        heads = [p for m in (self.lateral, self.heat, self.size) for p in m.parameters()]
        steps = int(self.trainer.estimated_stepping_batches)
        opts, scheds = [], []
        for params, lr in ((trunk, self.hparams.trunk_lr), (heads, self.hparams.head_lr)):
            opts.append(torch.optim.AdamW(params, lr=lr, weight_decay=1e-4))
            scheds.append(torch.optim.lr_scheduler.OneCycleLR(opts[-1], lr, total_steps=steps))
        return opts, scheds
