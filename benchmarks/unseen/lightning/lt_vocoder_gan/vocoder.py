"""GAN vocoder: a generator from mel frames to samples, a small discriminator."""
import logging
import time

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F

log = logging.getLogger("vocoder")


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.1)]
    return nn.Sequential(*layers[:-1])


class Vocoder(L.LightningModule):
    def __init__(self, mels: int = 20, samples: int = 128, lr: float = 5e-4):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.generator = mlp(mels, 64, samples)
        self.discriminator = mlp(samples, 64, 1)

    def configure_optimizers(self):
        lr = self.hparams.lr
        return (
            torch.optim.AdamW(self.generator.parameters(), lr=lr, betas=(0.8, 0.99)),
            torch.optim.AdamW(self.discriminator.parameters(), lr=lr, betas=(0.8, 0.99)),
        )

    def _update(self, optimizer, loss, name: str) -> bool:
        """One optimizer step; losses that blew up are left out as in the reference code."""
        if not torch.isfinite(loss):
            log.warning("%s loss is %s at step %d", name, loss.item(), self.global_step)
            return False
        optimizer.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        optimizer.step()
        return True

    def training_step(self, batch, batch_idx):
        mel, wav = batch
        opt_g, opt_d = self.optimizers()

        self.toggle_optimizer(opt_d)
        fake = self.generator(mel).detach()
        d_loss = F.softplus(-self.discriminator(wav)).mean() + F.softplus(self.discriminator(fake)).mean()
        self._update(opt_d, d_loss, "discriminator")
        self.untoggle_optimizer(opt_d)

        self.toggle_optimizer(opt_g)
        fake = self.generator(mel)
        g_loss = F.softplus(-self.discriminator(fake)).mean() + 5.0 * F.l1_loss(fake, wav)
        self._update(opt_g, g_loss, "generator")
        self.untoggle_optimizer(opt_g)

        self.log_dict({"gan/d": d_loss.detach(), "gan/g": g_loss.detach()}, on_step=True, on_epoch=False)
        time.sleep(0.02)
