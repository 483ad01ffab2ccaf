"""Running averages of the losses of a multi-task model."""
import torch


class TaskMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total = {}
        self.count = {}

    def update(self, task, loss, labelled):
        rows = int(labelled.sum())
        if rows == 0:
            return
        self.total[task] = self.total.get(task, 0.0) + loss.item() * rows
        self.count[task] = self.count.get(task, 0) + rows

    def averages(self):
        return {task: torch.tensor(self.total[task] / self.count[task]) for task in self.total}


def report(accelerator, meter, step):
    """Mean over all processes of every task's loss since the last report."""
    collected = accelerator.gather(meter.averages())
    meter.reset()
    line = "  ".join(f"{task} {values.mean():.4f}" for task, values in collected.items())
    accelerator.print(f"step {step:4d}  {line}")
