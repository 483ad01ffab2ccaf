import torch


class HoldoutJudge:
    """Scores the model on the holdout scans and keeps the history.

    The main process already writes logs and checkpoints, so the last one does this.
    """

    def __init__(self, accelerator, loader, every):
        self.accelerator = accelerator
        self.loader = loader
        self.every = every
        self.history = []

    def visit(self, step, model):
        if step % self.every != 0 or not self.accelerator.is_last_process:
            return
        accuracy = self._accuracy(model)
        self.history.append((step, accuracy))
        print(f"step {step} holdout accuracy {accuracy:.3f} (best {max(a for _, a in self.history):.3f})", flush=True)

    @torch.no_grad()
    def _accuracy(self, model):
        model.eval()
        right = total = 0
        for images, labels in self.loader:
            guess = model(images).argmax(dim=1)
            right += (guess == labels).sum().item()
            total += len(labels)
        model.train()
        return right / total
