"""From evidence to a report. Pure. One package per stage, each importing only those before it in this list:

`codes` (the list of diagnoses), `digest` (evidence into what `facts.Facts` holds), `conditions` (what conditions in the
job's source depend on), `divergence` (why ranks' histories differ), `blocked` (what one rank is stuck in), `offline`
(diagnoses without live ranks), `rules` (one module per diagnosis), and last `registry` and `engine`, which run them.
"""
