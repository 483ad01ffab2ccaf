import json
import logging
import time
from collections import Counter
from pathlib import Path

log = logging.getLogger(__name__)


def documents(n=60):
    for i in range(n):
        yield [f"tok{(i * 37 + k * k) % 500}" for k in range(40)]


def build(path: Path, throttle: float = 0.25) -> None:
    """Counts the tokens of the corpus; the document server allows four requests per second."""
    counts = Counter()
    for i, words in enumerate(documents()):
        counts.update(words)
        time.sleep(throttle)
        if i % 20 == 19:
            log.info("%d documents counted", i + 1)
    path.write_text(json.dumps({w: i for i, (w, _) in enumerate(counts.most_common(), start=1)}))


def load(path: Path) -> dict:
    if not path.exists():
        build(path)
    return json.loads(path.read_text())
