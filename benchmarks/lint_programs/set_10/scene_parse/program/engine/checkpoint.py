import os

import torch


class Checkpointer:
    """Writes model, optimizer and anything else that has a state dict."""

    def __init__(self, model, save_dir, optimizer, **others):
        self.model = model
        self.save_dir = save_dir
        self.optimizer = optimizer
        self.others = others

    def collect(self):
        model = getattr(self.model, "module", self.model)
        self.optimizer.consolidate_state_dict(to=0)
        return {"model": model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def save(self, name, **extra):
        state = self.collect()
        state.update({key: obj.state_dict() for key, obj in self.others.items()})
        state.update(extra)
        os.makedirs(self.save_dir, exist_ok=True)
        torch.save(state, os.path.join(self.save_dir, f"{name}.pth"))
