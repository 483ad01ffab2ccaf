"""Tokenize a tree of files and pack the tokens into rows of fixed length."""
import argparse
from pathlib import Path

import numpy as np
from transformers import AutoTokenizer

EXTS = {".py", ".c", ".cc", ".h", ".go", ".rs", ".java", ".ts"}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--src", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seq_len", type=int, default=2048)
    a = parser.parse_args()

    tok = AutoTokenizer.from_pretrained(a.model)
    stream = []
    for f in sorted(Path(a.src).expanduser().rglob("*")):
        if f.suffix in EXTS and f.stat().st_size < 500_000:
            stream += tok(f.read_text(errors="ignore")).input_ids + [tok.eos_token_id]
    rows = len(stream) // a.seq_len
    arr = np.asarray(stream[: rows * a.seq_len], dtype=np.int32).reshape(rows, a.seq_len)
    np.save(a.out, arr)
    print(f"{rows} rows of {a.seq_len} tokens -> {a.out}")
