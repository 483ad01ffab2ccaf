"""Pure. Evidence in, report out. One package a stage, each importing only what stands before it here:

`codes` (what diagnoses there are), `digest` (evidence into what `facts.Facts` holds), `conditions` (what decides in the
job's source), `divergence` (why ranks' histories differ), `blocked` (what one rank is stuck in), `offline` (what is
known without live ranks), `rules` (one module a diagnosis), and last `registry` and `engine`, which run them.
"""
