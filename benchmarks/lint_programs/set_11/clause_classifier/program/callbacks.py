import time

import torch
import torch.distributed as dist
from transformers import TrainerCallback


class WallClockBudget(TrainerCallback):
    """Saves and stops in time before the queue's limit ends the job."""

    def __init__(self, minutes: float, reserve: float = 5.0):
        self.seconds = 60 * (minutes - reserve)
        self.deadline = None

    def on_train_begin(self, args, state, control, **kwargs):
        self.deadline = time.monotonic() + self.seconds
        return control

    def on_step_end(self, args, state, control, **kwargs):
        if time.monotonic() >= self.deadline:
            control.should_save = True
            control.should_training_stop = True
        return control


class PeakMemory(TrainerCallback):
    """Reports the highest use of memory over the processes with each evaluation."""

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        if not torch.cuda.is_available():
            return control
        peak = torch.tensor(float(torch.cuda.max_memory_allocated()), device=args.device)
        if dist.is_available() and dist.is_initialized():
            dist.all_reduce(peak, op=dist.ReduceOp.MAX)
        if state.is_world_process_zero:
            print(f"step {state.global_step}: peak {peak.item() / 2**30:.2f} GiB")
        return control
