"""Policy gradient on a few toy environments with Lightning."""
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from tracker import TrackedReturns

ENVS = ["cliff", "grid", "maze"]


class Episodes(IterableDataset):
    """Each actor plays its own playlist; a level that is solved is taken off it."""

    def __init__(self, actor, per_epoch=12):
        self.actor, self.per_epoch = actor, per_epoch
        self.played = 0
        self.gen = torch.Generator().manual_seed(actor)

    def playlist(self):
        if self.actor == 1 and self.played >= 2 * self.per_epoch:
            return ENVS[:2]
        return ENVS

    def __iter__(self):
        for k in range(self.per_epoch):
            levels = self.playlist()
            env = levels[k % len(levels)]
            obs = torch.randn(10, 6, generator=self.gen)
            act = torch.randint(0, 3, (10,), generator=self.gen)
            reward = (act == obs[:, :3].argmax(1)).float()
            self.played += 1
            yield ENVS.index(env), obs, act, reward


class Policy(TrackedReturns, L.LightningModule):
    def __init__(self, lr=5e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))
        self.init_tracking()

    def train_dataloader(self):
        return DataLoader(Episodes(self.global_rank), batch_size=None)

    def training_step(self, batch, batch_idx):
        env, obs, act, reward = batch
        logp = self.net(obs).log_softmax(-1).gather(1, act[:, None]).squeeze(1)
        self.tracker.add(ENVS[int(env)], reward.sum())
        time.sleep(0.02)
        return -(logp * (reward - reward.mean())).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    L.seed_everything(3)
    trainer = L.Trainer(accelerator="cpu", devices=3, strategy="ddp", max_epochs=6, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                        use_distributed_sampler=False)
    trainer.fit(Policy())
    trainer.strategy.barrier("end")
    if trainer.is_global_zero:
        print({k: round(float(v), 3) for k, v in trainer.callback_metrics.items()}, flush=True)


if __name__ == "__main__":
    main()
