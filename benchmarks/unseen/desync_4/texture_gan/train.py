import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LATENT, SIZE = 16, 64


class Patches(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.012)
        generator = torch.Generator().manual_seed(index)
        return torch.rand(SIZE, generator=generator).cumsum(0).sin()


class Textures(L.LightningModule):
    """Two networks with an optimizer each; the critic learns more often at the beginning."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.painter = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, SIZE), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(SIZE, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def configure_optimizers(self):
        return [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.99)) for net in (self.painter, self.critic)]

    def training_step(self, patches, batch_idx):
        paint, judge = self.optimizers()
        made = self.painter(torch.randn(len(patches), LATENT))

        self.toggle_optimizer(judge)
        gap = nn.functional.softplus(-self.critic(patches)) + nn.functional.softplus(self.critic(made.detach()))
        judge.zero_grad()
        self.manual_backward(gap.mean())
        judge.step()
        self.untoggle_optimizer(judge)

        if self.current_epoch == 0 and batch_idx % 2:
            return
        self.toggle_optimizer(paint)
        fooled = nn.functional.softplus(-self.critic(made)).mean()
        paint.zero_grad()
        self.manual_backward(fooled)
        paint.step()
        self.untoggle_optimizer(paint)


class Sketch(L.Callback):
    """The first process draws some patches with the painter's weights."""

    def __init__(self, every):
        self.every = every
        self.sheets = []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.is_global_zero and (batch_idx + 1) % self.every == 0:
            with torch.no_grad():
                self.sheets.append(module.painter(torch.randn(64, LATENT)))
            time.sleep(0.6)


def main():
    torch.set_num_threads(1)
    L.seed_everything(12)
    loader = DataLoader(Patches(1440), batch_size=6, shuffle=True, num_workers=1)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp_find_unused_parameters_true",
        max_epochs=4,
        callbacks=[Sketch(every=40)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Textures(), loader)
    print(f"rank {trainer.global_rank} painted {trainer.global_step} steps", flush=True)


if __name__ == "__main__":
    main()
