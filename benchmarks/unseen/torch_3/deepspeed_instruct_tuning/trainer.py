import time

import deepspeed
import torch
import torch.distributed as dist


class BaseTrainer:
    """Minimal loop with hooks that the subclasses override."""

    def __init__(self, args):
        self.args = args
        self.global_step = 0

    def on_train_begin(self):
        pass

    def on_step_end(self, loss):
        pass

    def on_train_end(self):
        pass

    def training_step(self, batch):
        raise NotImplementedError

    def fit(self, batches):
        self.on_train_begin()
        for batch in batches:
            loss = self.training_step(batch)
            self.global_step += 1
            self.on_step_end(loss)
            time.sleep(0.02)
        self.on_train_end()


class DeepSpeedTrainer(BaseTrainer):
    def __init__(self, args, model, ds_config):
        super().__init__(args)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=ds_config)

    def training_step(self, batch):
        loss = self.engine(*batch)
        self.engine.backward(loss)
        self.engine.step()
        return loss


class InstructTrainer(DeepSpeedTrainer):
    """Adds logging and periodic checkpoints."""

    best = None

    def on_step_end(self, loss):
        if self.global_step % self.args.log_steps == 0:
            mean = loss.detach().float().clone()
            dist.all_reduce(mean)
            mean /= dist.get_world_size()
            if dist.get_rank() == 0:
                print(f"step {self.global_step} loss {mean.item():.4f}", flush=True)
                self.track(mean.item())

    def track(self, value):
        if self.best is None or value < self.best:
            self.best = value
            if self.global_step >= self.args.save_after:
                self.save(f"best-{self.global_step}")

    def save(self, tag):
        self.engine.save_checkpoint(self.args.output_dir, tag=tag, client_state={"loss": self.best})
