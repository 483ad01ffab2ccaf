import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


class BestKeeper:
    def __init__(self, settings, model, optimizer):
        self.dir = settings.run_dir / "best"
        self.model, self.optimizer = model, optimizer
        self.best = float("inf")

    def offer(self, value):
        """value is the same on all ranks."""
        if value >= self.best:
            return False
        self.best = value
        model, optim = get_state_dict(self.model, self.optimizer)
        dcp.save({"model": model, "optim": optim}, checkpoint_id=self.dir)
        return True

    def restore(self):
        model, optim = get_state_dict(self.model, self.optimizer)
        state = {"model": model, "optim": optim}
        dcp.load(state, checkpoint_id=self.dir)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
        dist.barrier()
