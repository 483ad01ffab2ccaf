from contextlib import contextmanager
from pathlib import Path

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict


class Session:
    """What has to be kept of a run."""

    def __init__(self, model, optimizer, directory):
        self.model, self.optimizer = model, optimizer
        self.directory = Path(directory)
        self.step = 0

    def store(self, name):
        model, optim = get_state_dict(self.model, self.optimizer)
        state = {"model": model, "optim": optim, "step": self.step}
        dcp.save(state, checkpoint_id=self.directory / name)


@contextmanager
def checkpoint_at_exit(session):
    """Whatever ends the run, the last state is on disk."""
    try:
        yield session
    finally:
        session.store("last")
