import torch
import torch.distributed as dist


class Callback:
    def on_epoch_start(self, trainer, epoch): ...
    def on_epoch_end(self, trainer, epoch, val): ...


class GradualUnfreeze(Callback):
    """Makes parts of the network trainable at given epochs, at a smaller learning rate."""

    def __init__(self, schedule, lr_scale):
        self.schedule = {int(k): v for k, v in schedule.items()}
        self.lr_scale = lr_scale

    def on_epoch_start(self, trainer, epoch):
        name = self.schedule.get(epoch)
        if name is None:
            return
        part = trainer.net.get_submodule(name)
        part.requires_grad_(True)
        trainer.optimizer.add_param_group({"params": list(part.parameters()), "lr": trainer.cfg["lr"] * self.lr_scale})
        trainer.say(f"epoch {epoch}: {name} is trained from here on")


class Checkpoint(Callback):
    def __init__(self, path):
        self.path, self.best = path, float("inf")

    def on_epoch_end(self, trainer, epoch, val):
        if val < self.best:  # val is already reduced
            self.best = val
            if dist.get_rank() == 0:
                torch.save({"net": trainer.net.state_dict(), "epoch": epoch}, self.path)


CALLBACKS = {c.__name__: c for c in (GradualUnfreeze, Checkpoint)}
