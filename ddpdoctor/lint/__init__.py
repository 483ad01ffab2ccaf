"""Lint: finds code that would hang, crash or silently corrupt a distributed run. Pure, except for reading files.

How it works
------------
`program` (beside this folder) decodes and parses. `interpreter` simulates the module on four ranks at once: a value is
one constant, one constant per rank (`get_rank()` is 0, 1, 2, 3) or a symbol, and every function yields a *trace*, the
tree of its collectives, branches, loops and exits. `ranks` compares two ranks' views of a trace and finds where they
diverge. A branch is judged by the *value* of its condition, not by the names of its variables.

Layers, each of which imports only those before it: `knowledge` (tables), `values`, `interpreter`, `ranks`, `facts`
(what rules read), `rules`.

How a rule reads facts
----------------------
A rule is a module in `rules/` with a docstring (what it does, why it hangs or harms, example, use instead, fix
safety, when it is wrong, references), a `RULE = LintRule(...)` and a generator `check(facts)`; it is then listed in
`registry`. `facts` is a `ModuleFacts` (facts/module_facts.py):

- `facts.divergences`: branches whose sides run different collectives, with both ranks' sequences: the proof.
- `facts.calls`: every call of something outside the project, with evaluated arguments, and the `Context` it happened
  in: which ranks execute it (`mask`), conditions (`guards`), loops, no_grad, try/except/finally, the call chain.
- `facts.named("torch.save")`: those calls by canonical dotted name, however they were imported; `facts.methods("x")`:
  calls of methods named x on objects other than modules.
- `facts.iterations`: `for` loops that started, with what they iterate over (`loop.over`).
- values: `value.constant`, `value.atoms` (one per rank), `value.taint`, `value.tags` (the bits of
  `values.tags.Tag`: where it comes from, how it differs between ranks), `value.object` (see
  values/abstract_objects.py: `Made` is the result of an external constructor, with its arguments).
- `facts.finding(RULE, node_or_site, message, ...)` makes a Finding, or None if the place is in another file.

UNKNOWN never leads to a finding. Rules do not walk syntax trees for concepts; a missing concept belongs in `facts`.
"""
