import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from config import parse_config
from denoiser import Denoiser, NoiseSchedule
from optim import build_optimizer, build_scheduler
from sprites import Sprites


class DiffusionTrainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.accelerator = Accelerator(
            mixed_precision=cfg.mixed_precision,
            gradient_accumulation_steps=cfg.gradient_accumulation_steps,
        )
        set_seed(cfg.seed)
        dataset = Sprites(cfg.num_sprites, cfg.seed)
        loader = DataLoader(dataset, batch_size=cfg.train_batch_size, shuffle=True, drop_last=True)
        model = Denoiser(cfg.timesteps)
        optimizer = build_optimizer(model, cfg)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

        self.steps_per_epoch = math.ceil(len(self.loader) / cfg.gradient_accumulation_steps)
        self.max_steps = cfg.num_epochs * self.steps_per_epoch
        scheduler = build_scheduler(optimizer, cfg, self.max_steps)
        self.scheduler = self.accelerator.prepare(scheduler)
        self.noise_schedule = NoiseSchedule(cfg.timesteps, self.accelerator.device)
        # noise and timesteps are drawn per process
        set_seed(cfg.seed, device_specific=True)

    def train_step(self, batch):
        images = batch["images"]
        noise = torch.randn_like(images)
        t = torch.randint(0, self.cfg.timesteps, (len(images),), device=images.device)
        noisy = self.noise_schedule.add_noise(images, noise, t)
        with self.accelerator.accumulate(self.model):
            loss = F.mse_loss(self.model(noisy, t), noise)
            self.accelerator.backward(loss)
            if self.accelerator.sync_gradients:
                self.accelerator.clip_grad_norm_(self.model.parameters(), self.cfg.max_grad_norm)
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
        return loss.detach()

    def save(self, epoch):
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            os.makedirs(self.cfg.output_dir, exist_ok=True)
            net = self.accelerator.unwrap_model(self.model)
            path = os.path.join(self.cfg.output_dir, f"denoiser_{epoch:03d}.pt")
            self.accelerator.save(net.state_dict(), path)

    def fit(self):
        self.accelerator.print(f"{self.max_steps} optimizer steps on {self.accelerator.num_processes} processes")
        for epoch in range(self.cfg.num_epochs):
            self.model.train()
            total = torch.zeros((), device=self.accelerator.device)
            for batch in self.loader:
                total += self.train_step(batch)
            mean = self.accelerator.reduce(total / len(self.loader), reduction="mean")
            lr = self.scheduler.get_last_lr()[0]
            self.accelerator.print(f"epoch {epoch}: loss {mean.item():.4f} lr {lr:.2e}")
            self.save(epoch)
        self.accelerator.end_training()


def main():
    DiffusionTrainer(parse_config()).fit()


if __name__ == "__main__":
    main()
