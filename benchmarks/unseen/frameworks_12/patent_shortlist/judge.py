"""Ranks candidates for each query; a process of its own, because it must not see the weights."""

import json
import random
import sys


def main():
    queries, depth, seed = (int(a) for a in sys.argv[1:4])
    rng = random.Random(seed)
    found = 0
    for query in range(queries):
        candidates = sorted(((rng.random(), rng.randrange(10**6)) for _ in range(depth)), reverse=True)
        found += candidates[0][0] > 0.9
        print(json.dumps({"query": query, "ranked": [{"patent": p, "score": round(s, 4)} for s, p in candidates]}))
    print(json.dumps({"queries": queries, "found": found}))


if __name__ == "__main__":
    main()
