from collections import defaultdict

from torch.nn import functional as F
from transformers import Trainer


class MultiTaskTrainer(Trainer):
    """Adds the loss of each task to what the Trainer logs, averaged over the processes."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._tasks = defaultdict(list)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        scores, nights = model(inputs["hotels"])
        losses = {
            "click": F.binary_cross_entropy_with_logits(scores, inputs["clicked"]),
            "nights": F.smooth_l1_loss(nights, inputs["nights"]),
        }
        several = inputs["shown"] > 1
        if several.any():
            margin = scores[several].amax(dim=1) - scores[several].mean(dim=1)
            losses["ranking"] = F.softplus(-margin).mean()
        for task, value in losses.items():
            self._tasks[task].append(value.detach())
        total = sum(losses.values())
        return (total, {"scores": scores}) if return_outputs else total

    def log(self, logs, *args, **kwargs):
        for task in sorted(self._tasks):
            values = self._tasks[task]
            mine = sum(values) / len(values)
            logs[f"loss_{task}"] = round(self.accelerator.gather(mine).mean().item(), 4)
        self._tasks.clear()
        super().log(logs, *args, **kwargs)
