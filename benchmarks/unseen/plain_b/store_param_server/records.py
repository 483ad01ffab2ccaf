"""Click log in a text format: label<TAB>f1,f2,...,f8"""
import random

WIDTH = 8


def write_shard(worker, n=400):
    """The text lines of one worker's shard, as the exporter leaves them."""
    rng = random.Random(worker)
    lines = []
    for i in range(n):
        feats = [f"{rng.gauss(0, 1):.4f}" for _ in range(WIDTH)]
        if worker == 2 and i == 139:
            feats[5] = r"\N"
        lines.append(f"{rng.randint(0, 1)}\t{','.join(feats)}")
    return lines


def parse(line):
    label, feats = line.split("\t")
    values = [float(v) for v in feats.split(",")]
    return int(label), values


class Shard:
    def __init__(self, worker):
        self.lines = write_shard(worker)

    def batch(self, step, size):
        at = step * size % len(self.lines)
        rows = [parse(line) for line in self.lines[at:at + size]]
        return [y for y, _ in rows], [x for _, x in rows]
