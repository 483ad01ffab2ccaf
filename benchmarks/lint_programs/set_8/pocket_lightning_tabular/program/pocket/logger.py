import csv
import json
import os


class CSVLogger:
    """logs/<name>/version_<n>/{hparams.json,metrics.csv}"""

    def __init__(self, save_dir, name="default", version=None, rank=0):
        self.save_dir = save_dir
        self.name = name
        self.rank = rank
        self._version = version
        self._fields = None

    @property
    def root_dir(self):
        return os.path.join(self.save_dir, self.name)

    @property
    def version(self):
        if self._version is None:
            self._version = self._next_version()
        return self._version

    @property
    def log_dir(self):
        return os.path.join(self.root_dir, f"version_{self.version}")

    def _next_version(self):
        if not os.path.isdir(self.root_dir):
            return 0
        taken = [int(d.split("_")[1]) for d in os.listdir(self.root_dir) if d.startswith("version_")]
        return max(taken, default=-1) + 1

    def log_hyperparams(self, params):
        if self.rank != 0:
            return
        os.makedirs(self.log_dir, exist_ok=True)
        with open(os.path.join(self.log_dir, "hparams.json"), "w") as f:
            json.dump(params, f, indent=1)

    def log_metrics(self, row):
        if self.rank != 0:
            return
        path = os.path.join(self.log_dir, "metrics.csv")
        new = self._fields is None
        if new:
            self._fields = list(row)
        with open(path, "w" if new else "a", newline="") as f:
            writer = csv.DictWriter(f, self._fields)
            if new:
                writer.writeheader()
            writer.writerow(row)
