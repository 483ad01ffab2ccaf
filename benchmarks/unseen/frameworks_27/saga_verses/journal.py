"""What the first rank writes down about a run."""
import json
import tempfile

import deepspeed


class Journal:
    def __init__(self, engine, every):
        self.engine = engine
        self.every = every
        self.file = tempfile.TemporaryFile("w") if engine.global_rank == 0 else None

    def after_step(self, step, loss):
        if self.file is None:
            return
        row = {"step": step, "loss": round(loss.item(), 4)}
        if step and step % self.every == 0:
            row["runes"] = self.rune_norms()
        self.file.write(json.dumps(row) + "\n")

    def rune_norms(self):
        """Length of each character's vector; dead characters show up as ones that never move."""
        weight = self.engine.module.embed.weight
        with deepspeed.zero.GatheredParameters([weight]):
            return [round(value, 3) for value in weight.detach().norm(dim=1).tolist()]

    def close(self):
        if self.file is not None:
            self.file.close()
