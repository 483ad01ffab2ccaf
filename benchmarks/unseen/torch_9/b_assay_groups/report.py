import time


class Reporter:
    def __init__(self, groups, rank):
        self.groups = groups
        self.rank = rank
        self.started = time.time()

    def line(self, step, text):
        if self.rank == 0:
            print(f"[{time.time() - self.started:6.1f}s] step {step}: {text}", flush=True)

    def overview(self, step, phase):
        if self.rank != 0:
            return
        sizes = []
        for name in self.groups:
            size = self.groups.size(name)
            sizes.append(f"{name}={size if size > 0 else 'elsewhere'}")
        self.line(step, f"phase {phase}, groups: " + ", ".join(sizes))
