"""Statistics about a few weights while a sharded model is trained."""
from torch.distributed.tensor import DTensor


class WeightWatch:
    def __init__(self, model, names, every, writer):
        self.parameters = {n: p for n, p in model.named_parameters() if n in names}
        self.every = every
        self.writer = writer

    def __call__(self, step):
        if self.writer is None or step == 0 or step % self.every:
            return
        for name, parameter in self.parameters.items():
            self.writer.add(step, name, self.spread(parameter.detach()))

    @staticmethod
    def spread(weight):
        if isinstance(weight, DTensor):
            weight = weight.full_tensor()
        values = weight.flatten()
        return values.quantile(0.99).item() - values.quantile(0.01).item()


class CsvWriter:
    def __init__(self, path):
        self.file = open(path, "w")

    def add(self, step, name, value):
        self.file.write(f"{step},{name},{value:.5f}\n")
        self.file.flush()
