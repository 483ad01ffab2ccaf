import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict


class BestWeights:
    """Sharded copy of the best weights so far, on the shared file system."""

    def __init__(self, run_dir):
        self.run_dir = run_dir
        self.score = float("inf")

    @property
    def location(self):
        return str(self.run_dir / "best")

    def offer(self, model, score):
        """Collective; `score` must be the globally reduced one."""
        if score >= self.score:
            return False
        self.score = score
        dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=self.location)
        return True

    def restore(self, model):
        state = {"model": get_model_state_dict(model)}
        dcp.load(state, checkpoint_id=self.location)
        set_model_state_dict(model, state["model"])
