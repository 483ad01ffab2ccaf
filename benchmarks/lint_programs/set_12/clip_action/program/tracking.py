"""Client of the experiment service (a shared folder behind it)."""
import json
import os
import shutil
import time
import uuid


class Run:
    def __init__(self, store, name, config, rank):
        self.folder = os.path.join(store, name)
        self.rank = rank
        os.makedirs(os.path.join(self.folder, "artifacts"), exist_ok=True)
        if self.rank == 0:
            with open(os.path.join(self.folder, "config.json"), "w") as f:
                json.dump(config, f, indent=1)
        self._metrics = None

    def log(self, metrics, step):
        if self.rank != 0:
            return
        if self._metrics is None:
            self._metrics = open(os.path.join(self.folder, "metrics.jsonl"), "a")
        self._metrics.write(json.dumps({"step": step, "time": time.time(), **metrics}) + "\n")
        self._metrics.flush()

    def log_artifact(self, path, kind, aliases=()):
        """Uploads a file as a new version and returns the version's id."""
        version = uuid.uuid4().hex[:12]
        base, ext = os.path.splitext(os.path.basename(path))
        target = os.path.join(self.folder, "artifacts", f"{base}-{version}{ext}")
        shutil.copyfile(path, target)
        with open(target + ".json", "w") as f:
            json.dump({"kind": kind, "aliases": list(aliases), "bytes": os.path.getsize(path)}, f)
        return version

    def finish(self):
        if self._metrics is not None:
            self._metrics.close()
            self._metrics = None
