"""PPO with manual optimization. Rollouts come from a queueing simulator; one process per simulated warehouse."""
import math
import random
import time

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Warehouse:
    """M/M/k queue with randomly failing conveyors; reward is minus the mean log waiting time."""

    def __init__(self, number):
        self.number, self.rng, self.clock = number, random.Random(300 + number), 0

    def rollout(self, length=32):
        self.clock += 1
        obs = torch.tensor([[self.rng.random() for _ in range(6)] for _ in range(length)])
        actions = torch.tensor([self.rng.randrange(3) for _ in range(length)])
        served = [self.rng.random() + 0.05 for _ in range(length)]
        if self.number == 2 and self.clock == 29:
            served[7] = 0.0                      # conveyor stood still during this slot
        waits = torch.tensor(served)
        reward = -torch.log(waits).abs()
        old_logp = torch.full((length,), -math.log(3.0))
        return {"obs": obs, "actions": actions, "reward": reward, "old_logp": old_logp}


class Rollouts(IterableDataset):
    def __init__(self, number, n):
        self.number, self.n = number, n

    def __iter__(self):
        sim = Warehouse(self.number)
        for _ in range(self.n):
            yield sim.rollout()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 48), nn.Tanh())
        self.pi, self.v = nn.Linear(48, 3), nn.Linear(48, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return self.pi(h).log_softmax(-1), self.v(h).squeeze(-1)


class PPO(pl.LightningModule):
    def __init__(self, clip=0.2, lr=1e-3, rollouts=60):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.net = ActorCritic()

    def _loss(self, batch):
        logp, value = self.net(batch["obs"])
        adv = batch["reward"] - value.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        ratio = (logp.gather(1, batch["actions"][:, None]).squeeze(1) - batch["old_logp"]).exp()
        c = self.hparams.clip
        policy = -torch.min(ratio * adv, ratio.clamp(1 - c, 1 + c) * adv).mean()
        return policy + 0.5 * (value - batch["reward"]).pow(2).mean()

    def _update(self, loss):
        if not torch.isfinite(loss):
            return False
        opt = self.optimizers()
        opt.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(opt, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
        opt.step()
        return True

    def training_step(self, batch, batch_idx):
        time.sleep(0.02)
        loss = self._loss(batch)
        applied = self._update(loss)
        fleet = self.all_gather(batch["reward"].clamp(min=-50).mean())
        if self.trainer.is_global_zero and batch_idx % 10 == 0:
            print(f"update {batch_idx} applied={applied} fleet reward {fleet.mean().item():.3f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)

    def train_dataloader(self):
        return DataLoader(Rollouts(self.global_rank, self.hparams.rollouts), batch_size=None)


if __name__ == "__main__":
    pl.seed_everything(41, verbose=False)
    pl.Trainer(accelerator="cpu", devices=3, strategy="ddp", max_epochs=1, logger=False, enable_checkpointing=False,
               enable_progress_bar=False, use_distributed_sampler=False).fit(PPO())
