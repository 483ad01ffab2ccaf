"""Which states of a run are kept, and where."""

import pathlib
import shutil
import tempfile


class Keeper:
    """Keeps the newest `count` states of a run in a folder that is removed in the end."""

    def __init__(self, rank, every, count=2):
        self.rank = rank
        self.every = every
        self.count = count
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="clay_")) if rank == 0 else None
        self.tags = []

    def due(self, step):
        return step > 0 and step % self.every == 0

    def after_step(self, engine, step, loss):
        """Called by all ranks; the files are written once."""
        if not self.due(step) or self.rank != 0:
            return
        tag = f"step{step:05d}"
        engine.save_checkpoint(str(self.folder), tag=tag, client_state={"step": step, "loss": loss})
        self.tags.append(tag)
        self.drop_old()
        print(f"kept {tag} (loss {loss:.4f})", flush=True)

    def drop_old(self):
        while len(self.tags) > self.count:
            shutil.rmtree(self.folder / self.tags.pop(0), ignore_errors=True)

    def newest(self):
        """The tag to resume from, if anything has been kept."""
        return self.tags[-1] if self.tags else None

    def close(self):
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
