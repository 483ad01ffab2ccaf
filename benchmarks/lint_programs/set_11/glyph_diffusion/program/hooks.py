import os

import torch
import torch.distributed as dist


class Hook:
    def after_step(self, trainer):
        pass

    def after_epoch(self, trainer):
        pass


class EmaHook(Hook):
    def __init__(self, decay):
        self.decay = decay

    @torch.no_grad()
    def after_step(self, trainer):
        for slow, fast in zip(trainer.ema.parameters(), trainer.net.module.parameters()):
            slow.lerp_(fast, 1 - self.decay)


class PreviewHook(Hook):
    """Writes a few images beside their reconstructions now and then."""

    def __init__(self, every, count):
        self.every, self.count = every, count

    def after_step(self, trainer):
        if trainer.rank != 0 or trainer.step % self.every:
            return
        images = next(trainer.batches, None)
        if images is None:
            return
        images = images[: self.count].to(trainer.device)
        rebuilt = trainer.schedule.reconstruct(trainer.ema, images)
        pair = torch.stack([images, rebuilt]).cpu()
        torch.save(pair, os.path.join(trainer.cfg["out"], f"preview_{trainer.step:06d}.pt"))


class LossHook(Hook):
    def __init__(self):
        self.total = None

    def after_step(self, trainer):
        entry = torch.stack([trainer.loss, torch.ones_like(trainer.loss)])
        self.total = entry if self.total is None else self.total + entry

    def after_epoch(self, trainer):
        dist.all_reduce(self.total)
        if trainer.rank == 0:
            print(f"epoch {trainer.epoch}: loss {(self.total[0] / self.total[1]).item():.4f}", flush=True)
        self.total = None


class SaveHook(Hook):
    def after_epoch(self, trainer):
        if trainer.rank == 0:
            torch.save(
                {"net": trainer.net.module.state_dict(), "ema": trainer.ema.state_dict(), "epoch": trainer.epoch},
                os.path.join(trainer.cfg["out"], "last.pt"),
            )
        dist.barrier()
