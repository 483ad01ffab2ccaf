"""The forms of all sentences of diagnoses that name ranks, lines or counts. A new sentence needs a form here.

Slots are checked against the evidence (tests/statements/claims.py says how each type is). In texts of several
sentences each has a form of its own.
"""

from __future__ import annotations

from tests.statements.grammar import Form, form

#: of several diagnoses (ddpdoctor/diagnose/wording.py, conditions.py, divergence/patterns.py)
_SHARED = """
{a:ranks} [waits|wait] for [it|them] in {w:wait a}
{a:ranks} [waits|wait] for [it|them]
{a:ranks} [waits|wait] for {b:ranks} in {w:wait a}
{a:ranks} [is|are] in {w:wait a}
It is in {w:wait}
It is in {w:wait}; {b:ranks} [waits|wait] in {x:wait b}
the histories diverge: {s:step} against {t:step}
the histories diverge there: {s:step} against {t:step}
{c:code p} at {p:place} [held|ended] on {a:ranks} and [not|continued] on {b:ranks}
{a:ranks} took {c:taken p} at {p:place}; {b:ranks} did not
perhaps {a:ranks} took {c:taken p} at {p:place}; {b:ranks} did not
{a:ranks} ran {c:taken p} at {p:place}, which {d:code q} at {q:place} tests
{a:ranks} raised what {c:code} at {p:place} catches; {b:ranks} did not
perhaps {a:ranks} raised what {c:code} at {p:place} catches; {b:ranks} did not
{c:code} is true on [local |]rank 0 only
{c:code} is true on every [local |]rank but 0
{p:place} was changed after the job started, so it is not used to find where the ranks diverged
{a:ranks}: {w:wait a}
{a:ranks}: not seen
{a:ranks}: idle in {f:text}
{a:ranks}: idle in {f:text}; {x:text}
{a:ranks}: exit status {n:status a}
{a:ranks}: {n:cpu a}% of a core between two samples {s:apart a} s apart
{a:ranks}: its child {p:process a} uses {n:number}% of a core
{a:ranks}: its child {p:process a} ({x:text}) uses {n:number}% of a core
{a:ranks}: its stack changed between the samples
{a:ranks}: {n:io a} bytes read or written within {s:apart a} s
{a:ranks}: the line {p:place a} sleeps for a fixed time, and wakes by itself
{a:ranks} [waits|wait] in {w:wait a} for {b:ranks}
{a:ranks} [waits|wait] in {w:wait a}, seq {n:number}
{a:ranks} [waits|wait] in {w:wait a}
"""

_DD201 = """
{a:side} [runs|run] out of data at {p:place a} after {n:delivered a} [batch|batches] where {b:side} got {m:delivered b}
{a:side} [runs|run] out of data at {p:place a} where {b:side} got another batch
the loop at {p:place} ended on {a:side} where {b:side} went on to {s:step b}
the loop at {p:place}, which {q:place} runs, ended on {a:side} where {b:side} went on to {s:step b}
{b:side} started another step, whose gradients need every rank
{b:side} went on to {s:step b}, which needs every rank
{a:side} had no [batch|iteration] left and continued after the loop: into {w:wait a}
{a:side} had no [batch|iteration] left and continued after the loop: {x:text}
the histories diverge at {p:place}: StopIteration against another batch
{a:ranks}: {n:delivered a} [batch|batches] delivered, {m:stops a} StopIteration
{a:ranks}: {n:forwards a} forwards, {m:backwards a} backwards entered
{a:ranks}: {n:forwards a} forwards, {m:backwards a} backwards entered, {l:left a} left
"""

_DD202 = """
{a:side} began another micro-batch at {p:place a} where {b:side} [was|were] done with the step
All ranks fetched equally many batches, but split the last into different numbers of micro-batches. {a:side} [is|are] in {w:wait a}, {b:side} [is|are] already in {x:wait b}
{a:ranks}: {n:batches a} [batch|batches], {m:forwards a} forwards
"""

_DD203 = """
only {a:side} [calls|call] {o:op a} at {p:place a}; {b:side} went on to {s:step b}
only {a:side} can reach {o:op a} at {p:place a}; {b:side} {n:now b}
Every rank of a group must enter the same collectives in the same order. {a:side} entered {o:op a} at {p:place a}, which {b:side} did not; [it|they] {n:now b}
Every rank of a group must enter the same collectives in the same order. {a:side} [is|are] in one that is reached only past a condition on the rank
{b:side} never made a call at {p:never b}; {a:side} did
{a:side} made one more {o:op a} at {p:place a} than {b:side}
{p:place} is reached only past {c:code} (line {n:code_line c p})
{p:place} is reached only past {c:code} (line {n:code_line c p}): {d:code} depends on {x:text}
{p:place} is reached only past {c:code} (line {n:code_line c p}): {d:code} is true on [local |]rank 0 only
{p:place} is reached only past {c:code} (line {n:code_line c p}): {d:code} is true on every [local |]rank but 0
{p:place} is reached only past {c:code}
{b:side} [is|are] past no such condition
Move {o:op} out of {c:code p} ({p:place}) so that all ranks call it
"""

_DD204 = """
only {a:side} [calls|call] {o:called p} at {p:place a}; {b:side} went on to {s:step b}
{o:name} [gathers|collects] the shards of all ranks. {a:side} is in {w:wait a} for it; {b:side} did not reach it and [is|are] in {x:wait b}
"""

_DD205 = """
only {a:side} [runs|run] a forward through the wrapped model at {p:place a}; {b:side} [is|are] in {w:wait b}
{a:side} [waits|wait] for ranks that run no forward here; {b:side} [waits|wait] for {c:side} in another operation
{b:side} never ran a forward at {p:no_forward b}; {a:side} did
that forward broadcasts buffers: {w:wait}
"""

_DD206 = """
{a:ranks} left the loop at {p:place} while {b:ranks} went on to {s:step b}
{a:ranks} went to {o:op a} alone at {p:place a} while {b:ranks} went on to {s:step b}
{a:ranks} {n:now a}; {b:ranks}, not on a path to it, {m:now b}
They diverged at a condition on {c:code}, although they have gone round together: they began to count at different values, which come from {p:place}
"""

_DD207 = """
{a:side} skipped {s:step} in [its|their] last round: [it|they] went past it at {q:place}
{a:side} skipped the [backward|forward and backward] of a batch at {p:place} that {b:side} trained on
{a:side} issued one gradient all-reduce fewer than {b:side}, so all later ones were paired with the wrong step until no partner was left: {c:side} [is|are] in {w:wait c}, {d:side} [is|are] in {x:wait d}
{a:side} issued one gradient all-reduce fewer than {b:side}, so all later ones were paired with the wrong step until no partner was left: {c:side} {n:now c}, {d:side} {m:now d}
{a:side} issued one gradient all-reduce fewer than {b:side}, so each side waits for the other in another process group: {c:side} {n:now c}, {d:side} {m:now d}
{a:side} went on to {s:step a} without the messages that follow the skipped work, and the other ranks wait for those. It is in {w:wait a}
{a:ranks}: {n:batches a} [batch|batches], {m:forwards a} forwards, {k:backwards a} backwards entered
"""

_DD208 = """
{a:side} [left the loop|skipped a batch|continued] without {s:step}; only the {c:code} at {p:place} leads there
the data loader of {p:place} raised an exception on {a:side}, which continued without that batch
{a:side} [issued|caught the exception and issued] fewer gradient all-reduces than {b:side}, so all later operations [meet|are paired with] the wrong ones: {c:side} {n:now c}, {d:side} {m:now d}
{a:side} [issued|caught the exception and issued] fewer calls of {o:op b} than {b:side}, so all later operations [meet|are paired with] the wrong ones: {c:side} {n:now c}, {d:side} {m:now d}
"""

_DD209 = """
{a:side}'s backward at {p:place a} returned without {s:step b}, in which {b:side} [waits|wait]
{a:side}'s backward at {p:place a} returned without the reduction in which {b:side} [waits|wait]
{a:side} ran as many forwards and backwards as {b:side}, and made this call in earlier ones; this time what calls it was not part of the loss, so backward did not reach it. It is in {w:wait a}
{a:side} ran the same batches, forwards and backwards as {b:side}, but a part of its model got no gradient, so DDP did not reduce that bucket there. It is in {w:wait a}; {c:side} [waits|wait] in {x:wait c}
"""

_DD210 = """
{a:side} did not reach the sharded module that is called at {p:place b}, {b:side} did
{a:side} did not reach the {o:op b} at {p:place b}, {b:side} did
The forward issues {o:op b} at {p:place b}, and every rank must take part. {a:side} went on to {s:step a} instead, so all later operations are paired with the wrong ones: {b:side} [is|are] in {w:wait b}, {c:side} in {x:wait c}
The forward issues {o:op} at {p:place}, and every rank must take part. {a:side} went on to {s:step a} instead, so all later operations are paired with the wrong ones: {c:ranks} [is|are] in {w:wait c}, {d:ranks} in {x:wait d}
"""

_DD211 = """
{a:side} ran fewer iterations of {c:code p} at {p:place} than {b:side}
{a:side} had nothing for {o:op b} at {p:place b} and did not reach it, {b:side} did
Every iteration issues {o:op b} at {p:place b}. {b:side} had one more name to reduce and [is|are] in {w:wait b}; {a:side} [is|are] already in {x:wait a}
They diverged at {c:code p} at {p:place}: {a:ranks} {n:now a}, {b:ranks} {m:now b}
"""

_DD212 = """
{a:side} did not reach the {o:op} at {p:place}; [its|their] next {q:op a} was paired with it
Barriers are paired by order alone. {b:side} reached the one at {p:place b}, {a:side} only to {s:step a}: both returned, and since then the ranks are off by one. {c:ranks} {n:now c}, {d:ranks} {m:now d}
Barriers are paired by order alone. {b:side} reached the one at {p:place b}, {a:side} only {s:step a}: both returned, and since then the ranks are off by one. {c:ranks} {n:now c}, {d:ranks} {m:now d}
{a:ranks} called the {o:op} at {p:place} {n:calls a o p} [time|times]
Let every rank reach the {o:op} at {p:place}: move it out of the condition
"""

_DD213 = """
{a:ranks} [issues|issue] {o:op a} at {p:place a} where {b:ranks} [issues|issue] {q:op b} at {u:place b}
{a:ranks} [issues|issue] {o:op a} with root {r:root a} at {p:place a} where {b:ranks} [issues|issue] {q:op b} with root {t:root b} at {u:place b}
at number {n:number} of {g:group} {x:text}
{a:ranks} [issues|issue] {o:op a} at {p:place a} with {n:elements a} elements of {t:dtype a}
{a:ranks} [issues|issue] {o:op a} with {n:elements a} elements of {t:dtype a}
Collectives of a group are paired by their order as operation {n:number}: {o:op a} on {a:ranks} is paired with {q:op b} on {b:ranks}, and each waits for ranks that are in the other
Collectives of a group are paired by their order: {o:op a} on {a:ranks} is paired with {q:op b} on {b:ranks}, and each waits for ranks that are in the other
the tensors that the ranks pass to {o:op} at {p:place} differ in [size|type] ({x:text})
{a:ranks}: {n:elements a} elements of {t:dtype a}
"""

_DD216 = """
{a:side} went to {s:step a} because of a signal, {b:side} went on to {t:step b}
It reached {a:side} and not {b:side}: {c:ranks} [is|are] in {w:wait c}, {d:ranks} in {x:wait d}
"""

_DD217 = """
{a:side} ran a step under no_sync at {p:place} that {b:side} synchronised
{a:side} reduced no gradients in a backward in which {b:side} did, so all later reductions were paired with the wrong step: {c:ranks} [is|are] in {w:wait c}, {d:ranks} in {x:wait d}
{a:ranks}: {n:forwards a} synchronising forwards, {m:no_sync a} under no_sync, {k:backwards a} backwards
"""

_DD218 = """
{a:ranks} [send|receive|wait] in a cycle: {b:ranks} waits in {w:wait b}
only {a:side} left the order of [its|their] earlier rounds
{a:ranks} [send|receive][ at |]{x:text}, and no rank that is seen [receives|sends]
{a:ranks} [send|receive], and no rank that is seen [receives|sends]
{a:ranks} [receives|sends] for the {x:text} time [from|to] {b:ranks}, which has [sent|received] {n:number} times and is in {w:wait b}
{a:ranks} is in {w:wait a} where its earlier rounds went on with {x:step a}
{a:ranks} waits in an operation that {b:ranks} has to join, and cannot reach its part of this one: the two do not agree on how often they [exchange|meet]
{a:ranks}: {n:number} [answered|issued with] {x:text}
{a:ranks}: {n:number} answered
{c:code} at {p:place} is where {a:side} left that order
Let both sides expect the same number of messages at {p:place}: agree on the number of micro-batches before, and skip on neither side alone
"""

_DD218 += "{a:ranks} waits in {w:wait a} ...\n"

_DD219 = """
{a:side} did not call {o:op b} at {p:place b}, {b:side} did
{b:side} have created one more than {a:side}; what is created next does not belong together: {c:ranks} {n:now c}, {d:ranks} {m:now d}
{b:ranks} [has|have] created one more than {a:ranks}; what is created next does not belong together: {c:ranks} {n:now c}, {d:ranks} {m:now d}
all ranks are creating groups, but not the same: {x:text}
Call {o:op} at {p:place} on every rank, and keep the result on the members; or pass use_local_synchronization=True
Move the call out of {c:code p} ({p:place}): every rank calls {o:op} for every group, and keeps the result where it is a member; or pass use_local_synchronization=True
"""

_DD220 = """
{a:ranks} wait for each other in a cycle through {n:number} process groups
{a:ranks} [waits|wait] in {o:wait a} of {g:group} for {b:ranks}
{a:ranks} [needs|need] {b:ranks} in {w:wait a} of {g:group}
{a:ranks} [is|are] in {w:wait a} of {g:group} where {b:ranks} [is|are] in {x:wait b} of {h:group}
{a:ranks} [waits|wait] in {g:group} for {b:ranks}, and {c:ranks} in {h:group} for {d:ranks}: each would enter the other group only afterwards
"""

_DD221 = """
{a:culprits} is in {w:wait a} in a loop under Join, which does not replay it
{b:others} [has|have] no data left and [replays|replay] what the model issues, nothing else. {a:culprits} needs them in {w:wait a}
{a:ranks}: inside {x:text}
"""

_DD231 = """
{a:culprits} still [sleeps|sleep|works|work] in {f:function p} at {p:place a} while {b:waiting} [waits|wait] in {w:wait b}
This is slow, not a deadlock: {a:culprits} [is|are] [busy|asleep for a fixed time], and the others [can continue as soon as it arrives|continue when it is done]
{a:culprits} still writes in {f:function p} at {p:place a} while {b:waiting} [waits|wait] in {w:wait b}
{a:ranks}: working in {x:text}
{a:culprits} compiles at {p:place a} while {b:waiting} [waits|wait] in {w:wait b}
This is slow, not a deadlock: the others continue as soon as {a:culprits} has finished compiling
{a:ranks}: its stack is in {f:text} of {x:text}
"""

_BLOCKED = """
{a:culprits} waits for the network at {p:place a}[ from |]{x:text}
{a:culprits} waits for the network at {p:place a}
{a:culprits} uses no CPU and is inside a network client with no timeout or a long one. {b:waiting} [waits|wait] for it in {w:wait b}
{a:culprits} uses no CPU and is inside a network client with no timeout or a long one
The server is process {p:process}{x:text}
{a:ranks} is in {f:text} of {x:text}
its system call is {x:text}
{a:culprits} waits for its data worker {n:process a}, which [is|waits for a lock] at {p:place a}
{a:culprits} needs the next batch from its worker process {n:process a}, and it does not leave the dataset's own code
worker {n:process} of {a:ranks}: {p:place a}, asleep in {f:text}
Worker {n:process} sleeps in [the lock |]{x:text} that is never released: it was probably held by another thread of {a:culprits} when the worker was forked, and that thread does not exist in the worker
{a:ranks} raised {x:raised a}
{a:ranks}: child {n:process a} has ended and was not waited for
{a:culprits} waits for its DataLoader, whose worker {n:process a} is dead
a data worker of {a:culprits} was killed: {x:text}
The worker's process has ended, and {a:culprits} still waits for a batch from it
The worker's process is gone, and {a:culprits} raised an exception when it requested the next batch
{a:ranks}: inside the DataLoader's {f:text}
worker {n:process} is at {p:place}
{a:culprits} [waits|wait] for [its|their] data workers to exit at {p:place a}; worker {n:process} is at {q:place}
{a:culprits} [waits|wait] for [its|their] data workers to exit at {p:place a}
The iterator of the DataLoader was discarded, and its workers do not exit; worker {n:process} is at {q:place}
{a:ranks} [waits|wait] in {w:wait a}
{a:ranks}: asleep in the kernel's {f:text}
{a:ranks}: in {x:text}; asleep in the kernel's {f:text}
{a:ranks}: sleeps for as long as {c:code}; asleep in the kernel's {f:text}
{a:ranks}: its system call is {x:text}
{a:culprits} [waits|wait] for {x:text} at {p:place a}
{a:culprits} [waits|wait] for {x:text} at {p:place a}, [which|open in] {y:text}
It is not known which process holds the lock: {x:text}
It is open in process {n:process}{x:text}
It was created {n:number} s before this job's ranks were started: an earlier run left it
The lock is held by {a:ranks} (process {n:process a})
The lock is held by process {n:process}{x:text}
Thread {f:text} of the same process holds it at {p:place}
{a:ranks} [is|are] in {w:wait a}
{a:ranks} is inside {x:text}
{a:ranks} sleeps in the kernel's {f:text}
its read end is open in {x:text}
its reader is not known: {x:text}
pipe:{x:text} is descriptor {n:number} of {a:culprits}
process {n:process} sleeps in the kernel's {f:text}
{a:culprits} cannot write to {x:text} at {p:place a}: the pipe is full and is not read
{a:culprits} waits at {p:place a} for the exit of a child that cannot write: its pipe is full
Process {n:process a}, a child of {a:culprits}, sleeps inside a write to a pipe that is not read
{a:culprits} waits for its exit before it reads, so neither continues
{a:culprits} sleeps inside the write until the reader empties the pipe
Its read end is open in {x:text}
Only {a:culprits} itself has its read end open, and does not get to reading it
{a:culprits} waits for user input: {x:text} at {p:place a}
{a:culprits} is in {x:text} and would continue after an answer
{a:waiting} [waits|wait] meanwhile in {w:wait a}
{a:ranks}: no heartbeat for {n:number} s, and no CPU time between two samples
{a:culprits} is in a native call at {p:place a} that holds the interpreter's lock, for {n:number} s
Python has not run in {a:culprits} since: its heartbeat thread does not run, and the process uses no CPU
{a:ranks}: main thread in state D{x:text}
{a:ranks}: main thread in state D
{a:ranks}: process {n:process a} is in state T
{a:culprits} is stopped by a signal at {p:place a}; {b:waiting} [waits|wait] in {w:wait b}
The kernel does not run {a:culprits}: a SIGSTOP or SIGTSTP, a debugger or a container freezer stopped it
"""

_ENDED = """
{a:culprits} [raised|died of|was killed by] {x:text} at {p:place a}
{a:culprits} raised {x:raised a} at {p:place a}
{a:culprits} raised {x:raised a} at {p:place a}, and has not exited
{a:ranks} raised {x:raised a} {n:since_start a} s [after the start|later]
{a:ranks} raised {x:raised a} {n:since_start a} s after the start (a victim)
{a:ranks} [died of|was killed by] {x:text} {n:since_start a} s after the start
{a:ranks} [died of|was killed by] {x:text} {n:since_start a} s after the start (a victim)
{a:ranks} exited with status {m:status a} {n:since_start a} s after the start
{a:ranks} exited with status {m:status a}, {n:since_start a} s after the start
{a:culprits} exited with status {m:status a} at {p:place a}
{a:culprits} failed first
{a:culprits} failed first, but only because a peer was lost or did not arrive in time
{b:ended} only lost it: [its end is|their ends are] a consequence
{b:ranks} still [waits|wait] for it
Find out why {a:culprits} exited with this status; the others need it
Fix the error in {a:culprits}'s traceback; the other ranks need no change
Read {a:culprits}'s stack: native code ended the process
{a:culprits} finished with status {n:status a} while {b:waiting} [waits|wait] for it in {w:wait b}
{a:culprits} exited without an error, so the launcher sees no failure; {b:waiting} [needs|need] it for a collective that it will never enter
{a:ranks}'s last recorded call is at {p:place a}
thread {t:text} of {a:culprits} ended with {x:raised a} at {p:place a}, and {b:ranks} still waits for a thread
{a:culprits} is idle in {f:text} on its way out, so its traceback has not been printed; {b:waiting} [waits|wait] for it in {w:wait b}
{a:culprits} is in {v:wait a} on its way out, so its traceback has not been printed; {b:waiting} [waits|wait] for it in {w:wait b}
The main thread of {a:culprits} waits at {p:place a}, in {f:text}, for another thread of its process, and one of them is gone
{a:culprits} [is|are] done and cannot exit, waiting for its thread {t:text} at {p:place a}
No rank has work left, {b:ended} exited already
"""

_START = """
{b:ranks} [waits|wait] in {o:op b} for {a:culprits}: {c:culprits} [has|have] no visible process
{b:ranks} [waits|wait] in {o:op b} for {a:culprits}: {c:culprits} {n:now c}
The process group is created when all {n:world} ranks have arrived. {a:culprits} [has|have] not called {o:op} yet
Check what {a:culprits} [does|do] before {o:op}, or why [it was|they were] not started
{a:ranks} [waits|wait] at the rendezvous, and no connection is made
{a:ranks}: creating the store in {x:text}
{a:ranks}: one collective begun, none finished, backend {x:text}
the first NCCL collective does not return on {a:ranks}, and no rank selected its GPU
the model of {a:culprits} differs from {b:others}'s at {p:place a}: {x:text}
"""

_TRANSPORT = """
{n:number} of {m:number} ranks have entered {w:wait}
all ranks are in {w:wait}, none is missing, and it does not finish
excluded: an interface that reaches no other machine: the group has completed {n:number} operations before
Test the transport without the program (nccl-tests, iperf). In this order: {x:text}
"""

_DD299 = """
{a:ranks} in {w:wait a}, {b:ranks} in {x:wait b}: the evidence does not show which is wrong
{a:ranks} in {w:wait a}, {b:ranks} in {x:wait b}: the evidence does not show why
{a:ranks} in {w:wait a}: the evidence does not show why
{a:ranks} in {w:wait a}, {y:text}: the evidence does not show why
{a:ranks} in {w:wait a}, {y:text}; nothing is known about {b:unseen}
{a:ranks} in {w:wait a}; nothing is known about {b:unseen}
{a:ranks} skipped {s:step}: the evidence does not show whether because of a condition or because of a caught exception
{b:waiting} [waits|wait] for {a:culprits}, which [is|are] {x:text} at {p:place a}
{b:waiting} [waits|wait] for {a:culprits}, which [is|are] {x:text}
{a:culprits} [is|are] {x:text} at {p:place a}
{b:waiting} [waits|wait] in {x:text}, which no rank has set
{a:ranks} [was|were] ended or lost a peer; nothing is known about {b:unseen}
{a:ranks} [was|were] ended or lost a peer
{a:ranks} never reached {o:op} at {p:place}, number {n:number} of {g:group}; {b:ranks} did
The ranks' histories diverge: {a:ranks} reached {s:step a}, {b:ranks} {t:step b}
{a:ranks} left the loop first: {x:text}
{a:ranks} ran the step under no_sync and reduced no gradients
More than one path leads past what {a:ranks} skipped
one explanation: {a:ranks} missed {s:step}
the other: {a:ranks} missed {s:step}
one explanation: {a:ranks} skipped {s:step} because of its own condition (DD207)
the other: an exception on {a:ranks} was caught (DD208)
one explanation: the data of {a:ranks} ended first (DD201)
the other: {a:ranks} decided on its own to stop (DD206)
Check both places: either {a:ranks} must also reach {s:step}, or {b:ranks} {t:step}
{a:culprits}: It did not change between two samples
{a:culprits}: A single sample does not show whether it changes
It is inside {x:text}
It waits for {a:ranks} over one of the program's own connections
It waits for another thread of its own process, in {f:text}. Its other threads: {x:text}
That process is at {p:place}
{k:text} is set at {p:place}, by its number on {a:ranks}, which is {x:text}
{k:text} is set at {p:place}; which rank has to set it is not known
{a:ranks} [waits|wait] for the store's key {k:text}
What {a:unseen} [does|do] is not known: [it is|they are] on other nodes, or left no evidence
{a:ranks} waits in {w:wait a} for {b:ranks}, which waits in {x:wait b} for {c:ranks}
{a:ranks} was in no recorded operation when the dump was written: it was elsewhere in the program, or had exited
Check what {a:ranks} did after {s:step a}; a stack of it (py-spy dump) or its log, given with the dumps, shows more
{a:ranks}: the last of {g:group} was number {n:number}, {s:step a}
{a:ranks}: {x:raised a}
{a:ranks}: {x:text}
"""

_ALL = (
    *(_SHARED, _DD201, _DD202, _DD203, _DD204, _DD205, _DD206, _DD207, _DD208, _DD209, _DD210, _DD211, _DD212, _DD213),
    *(_DD216, _DD217, _DD218, _DD219, _DD220, _DD221, _DD231, _BLOCKED, _ENDED, _START, _TRANSPORT, _DD299),
)
FORMS: tuple[Form, ...] = tuple(form(line) for text in _ALL for line in text.strip().splitlines())
