import os
import shutil
import tempfile
from contextlib import contextmanager


class Scratch:
    """A folder on the local disk that the workers of a job share and leave clean behind them."""

    def __init__(self, name: str):
        job = os.environ.get("MASTER_PORT", "0")
        self.folder = os.path.join(tempfile.gettempdir(), f"{name}-{job}")
        os.makedirs(self.folder, exist_ok=True)

    @contextmanager
    def shared_by(self, accelerator):
        try:
            yield self.folder
        finally:
            accelerator.wait_for_everyone()
            if accelerator.is_local_main_process:
                shutil.rmtree(self.folder, ignore_errors=True)
