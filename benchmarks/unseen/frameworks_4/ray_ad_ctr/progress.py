import ray.train


class Progress:
    """Sends the running averages of the training to the dashboard."""

    def __init__(self, every):
        self.every = every
        self.rank = ray.train.get_context().get_world_rank()
        self.reset()

    def reset(self):
        self.total, self.n = {}, 0

    def add(self, step, **values):
        for k, v in values.items():
            self.total[k] = self.total.get(k, 0.0) + float(v)
        self.n += 1
        if step % self.every == 0:
            self.publish(step)

    def publish(self, step):
        means = {k: v / self.n for k, v in self.total.items()}
        self.reset()
        if self.rank == 0:
            ray.train.report({"step": step, **means})
