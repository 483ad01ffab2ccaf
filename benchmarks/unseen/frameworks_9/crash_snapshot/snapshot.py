from pathlib import Path

import lightning as L


class CrashSnapshot(L.Callback):
    """Keeps the weights of a run that ends with an exception, so that it can be looked at or resumed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.taken = None

    def on_exception(self, trainer, pl_module, exception):
        if isinstance(exception, KeyboardInterrupt) or self.taken is not None:
            return
        self.taken = self.folder / f"crash-{type(exception).__name__}-{trainer.global_step}.ckpt"
        trainer.save_checkpoint(self.taken)

    def teardown(self, trainer, pl_module, stage):
        if self.taken is not None and trainer.is_global_zero:
            print(f"snapshot in {self.taken}", flush=True)
