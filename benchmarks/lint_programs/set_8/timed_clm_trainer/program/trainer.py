import os
import random
import shutil
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from callbacks import CallbackHandler, FlowCallback, IntervalCheckpointCallback, JsonLogger


@dataclass
class TrainingArguments:
    output_dir: str = "/tmp/clm_out"
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 2
    learning_rate: float = 3e-3
    max_steps: int = 600
    logging_steps: int = 50
    eval_steps: int = 200
    save_interval: float = 0.5
    save_total_limit: int = 2
    seed: int = 42


@dataclass
class TrainerState:
    global_step: int = 0
    epoch: int = 0
    max_steps: int = 0
    is_world_process_zero: bool = True
    log_history: list = field(default_factory=list)


@dataclass
class TrainerControl:
    should_training_stop: bool = False
    should_save: bool = False
    should_evaluate: bool = False
    should_log: bool = False


class Trainer:
    def __init__(self, model, args, train_dataset, eval_dataset, callbacks=()):
        self.args = args
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
        self.model = model
        self.model_wrapped = DistributedDataParallel(model)
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda s: max(0.0, 1.0 - s / args.max_steps))
        self.state = TrainerState(max_steps=args.max_steps, is_world_process_zero=self.rank == 0)
        self.control = TrainerControl()
        default = [FlowCallback(), IntervalCheckpointCallback(args.save_interval),
                   JsonLogger(os.path.join(args.output_dir, "log.jsonl"))]
        self.callback_handler = CallbackHandler(default + list(callbacks), args, self.state, self.control)

    def get_dataloader(self, dataset, shuffle):
        sampler = DistributedSampler(dataset, shuffle=shuffle, seed=self.args.seed)
        return DataLoader(dataset, self.args.per_device_train_batch_size, sampler=sampler, drop_last=shuffle)

    def training_step(self, inputs, sync):
        self.model_wrapped.train()
        self.model_wrapped.require_backward_grad_sync = sync
        loss = self.model_wrapped(**inputs) / self.args.gradient_accumulation_steps
        loss.backward()
        return loss.detach()

    def train(self):
        args, state, control = self.args, self.state, self.control
        loader = self.get_dataloader(self.train_dataset, shuffle=True)
        self.callback_handler.call("on_train_begin")
        tr_loss = torch.zeros(())
        while not control.should_training_stop:
            loader.sampler.set_epoch(state.epoch)
            for i, inputs in enumerate(loader):
                sync = (i + 1) % args.gradient_accumulation_steps == 0
                tr_loss += self.training_step(inputs, sync)
                if not sync:
                    continue
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.lr_scheduler.step()
                self.optimizer.zero_grad()
                state.global_step += 1
                self.callback_handler.call("on_step_end")
                tr_loss = self._maybe_log_save_evaluate(tr_loss)
                if control.should_training_stop:
                    break
            state.epoch += 1
        return state

    def _maybe_log_save_evaluate(self, tr_loss):
        control = self.control
        if control.should_log:
            control.should_log = False
            mean = self._nested_gather(tr_loss).mean().item() / self.args.logging_steps
            tr_loss = torch.zeros(())
            self.log({"loss": round(mean, 4), "lr": self.lr_scheduler.get_last_lr()[0]})
        if control.should_evaluate:
            control.should_evaluate = False
            self.log(self.evaluate())
        if control.should_save:
            control.should_save = False
            self._save_checkpoint()
            self.callback_handler.call("on_save")
        return tr_loss

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        losses = [self.model(**b) for b in self.get_dataloader(self.eval_dataset, shuffle=False)]
        return {"eval_loss": round(self._nested_gather(torch.stack(losses).mean()).mean().item(), 4)}

    def log(self, logs):
        self.state.log_history.append({"step": self.state.global_step, **logs})
        self.callback_handler.call("on_log", logs=logs)

    def _nested_gather(self, tensor):
        out = [torch.zeros_like(tensor) for _ in range(self.world_size)]
        dist.all_gather(out, tensor)
        return torch.stack(out)

    def _save_checkpoint(self):
        folder = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step}")
        rng = {"python": random.getstate(), "numpy": np.random.get_state(), "cpu": torch.get_rng_state()}
        rng_states = [None] * self.world_size
        dist.all_gather_object(rng_states, rng)
        if self.rank == 0:
            os.makedirs(folder, exist_ok=True)
            torch.save(self.model.state_dict(), os.path.join(folder, "model.pt"))
            torch.save({"optimizer": self.optimizer.state_dict(), "scheduler": self.lr_scheduler.state_dict(),
                        "step": self.state.global_step, "rng": rng_states}, os.path.join(folder, "trainer.pt"))
            self._rotate_checkpoints()
        dist.barrier()

    def _rotate_checkpoints(self):
        found = [d for d in os.listdir(self.args.output_dir) if d.startswith("checkpoint-")]
        found.sort(key=lambda d: int(d.split("-")[1]))
        for d in found[:-self.args.save_total_limit]:
            shutil.rmtree(os.path.join(self.args.output_dir, d), ignore_errors=True)
