import multiprocessing as mp


class Callback:
    def on_step(self, trainer, step, loss): ...
    def on_end(self, trainer): ...


def _drain(queue, path):
    with open(path, "w") as out:
        while True:
            kind, payload = queue.get()
            if kind == "close":
                return
            out.write(f"{kind}\t{payload}\n")


class Sink:
    """Writes events from a process of its own, so that training never waits for the disk."""

    def __init__(self, path):
        self.queue = mp.Queue()
        self.proc = mp.Process(target=_drain, args=(self.queue, path), daemon=True)
        self.proc.start()

    def emit(self, kind, payload):
        self.queue.put((kind, payload))


class ScalarLogger(Callback):
    def __init__(self, sink, every=5):
        self.sink, self.every = sink, every

    def on_step(self, trainer, step, loss):
        if step % self.every == 0:
            self.sink.emit("loss", f"{step} {loss:.5f}")

    def on_end(self, trainer):
        self.sink.emit("close", None)
        self.sink.proc.join()


class ResidualTable(Callback):
    """Keeps all residuals of the run for the calibration notebook."""

    def __init__(self, sink):
        self.sink = sink
        self.rows = []

    def on_step(self, trainer, step, loss):
        self.rows.extend(trainer.residual.tolist())

    def on_end(self, trainer):
        self.sink.emit("residuals", [round(r, 6) for r in self.rows])


class Echo(Callback):
    def on_step(self, trainer, step, loss):
        if step % 20 == 0:
            print(f"[{step}] {loss:.4f}", flush=True)
