"""Pure. Evidence to verdict: wait-for graph, engine, one rule per file."""
