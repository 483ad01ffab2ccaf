import json
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Settings:
    root: str = "runs"
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    epochs: int = 4
    batch_size: int = 32
    window: int = 48
    horizon: int = 12
    width: int = 64
    lr: float = 1e-3
    seed: int = 8

    @property
    def run_dir(self) -> Path:
        return Path(self.root) / f"forecast-{self.run_id}"

    def dump(self):
        self.run_dir.mkdir(parents=True, exist_ok=True)
        (self.run_dir / "settings.json").write_text(json.dumps(asdict(self), indent=2))
