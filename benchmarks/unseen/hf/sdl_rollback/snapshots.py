"""Snapshots of the model and of every rank's position in its data."""
import torch
import torch.distributed as dist


class Snapshots:
    def __init__(self, folder):
        self.folder = folder
        self.rank = dist.get_rank()
        self.keep = dist.get_world_size()  # one file per rank
        self.last = None

    def _position(self, step):
        return self.folder / f"step{step:06d}-loader{self.rank}.pt"

    def _model(self, step):
        return self.folder / f"step{step:06d}-model.pt"

    def save(self, step, model, loader):
        torch.save(loader.state_dict(), self._position(step))
        dist.barrier()
        if self.rank == 0:
            torch.save(model.state_dict(), self._model(step))
            self._prune()
        dist.barrier()
        self.last = step

    def _prune(self):
        for path in sorted(self.folder.glob("step*.pt"))[: -self.keep]:
            path.unlink()

    def restore(self, model, loader):
        """Back to the last snapshot; returns its step."""
        model.load_state_dict(torch.load(self._model(self.last)))
        position = self._position(self.last)
        if position.exists():
            loader.load_state_dict(torch.load(position, weights_only=False))
        return self.last
