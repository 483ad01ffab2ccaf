"""Pure. Evidence in, report out: wait-for graph, histories, one rule a cause."""
