import io
import os
import tempfile
import time

import torch


def write_archive(module, piece=4096, pause=0.08):
    buffer = io.BytesIO()
    torch.save(module.state_dict(), buffer)
    data = buffer.getvalue()
    handle, path = tempfile.mkstemp(suffix=".pt")
    with os.fdopen(handle, "wb") as out:
        for start in range(0, len(data), piece):
            out.write(data[start:start + piece])
            out.flush()
            os.fsync(out.fileno())
            time.sleep(pause)
    return path
