"""The training journal: a line per step, and a close look at the weights every now and then."""
import json
import os
import time


class Journal:
    def __init__(self, folder, writes, deep_every):
        self.writes = writes
        self.deep_every = deep_every
        self.begun = time.time()
        self.file = open(os.path.join(folder, "journal.jsonl"), "a") if writes else None

    def note(self, step, model, **values):
        if not self.writes:
            return
        row = {"step": step, "time": round(time.time() - self.begun, 2), **values}
        if step % self.deep_every == 0:
            row["weights"] = self.spread(model)
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    @staticmethod
    def spread(model):
        """Mean and largest entry of each weight matrix. Dead layers show up here weeks before the
        loss tells.
        """
        table = {}
        for name, weight in model.named_parameters():
            if weight.ndim < 2:
                continue
            whole = weight.detach().full_tensor()
            table[name] = [whole.mean().item(), whole.abs().max().item()]
        return table
