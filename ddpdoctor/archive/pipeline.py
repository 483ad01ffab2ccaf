"""Impure. Files -> report: every file read, all put together, judged by the same engine as a live job."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace

from ddpdoctor.archive import local_source, parallel_dumps, rank_from_filename, read, recorder_fragments
from ddpdoctor.archive.assemble import assemble
from ddpdoctor.archive.downsample import MOST_RANKS, downsample
from ddpdoctor.archive.fragment import Format, Fragment, RankMention
from ddpdoctor.archive.input_files import InputFile, InputFiles, is_report, read_content
from ddpdoctor.archive.merge_evidence import merge
from ddpdoctor.archive.parallel_dumps import Dumps
from ddpdoctor.collect import assemble as capture
from ddpdoctor.collect import bundle, source_files
from ddpdoctor.diagnose import engine, wording
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.offline.recorder_dumps.report import examine_dumps
from ddpdoctor.errors import InputError
from ddpdoctor.merge.recorder_set import from_recorders
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source
from ddpdoctor.model.recorder_set import RecorderSet
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site

_RECORDERS = frozenset({Format.RECORDER_PICKLE, Format.RECORDER_JSON})
#: names of files that a report lists one by one
_LISTED = 3


def read_dumps(found: InputFiles) -> Dumps:
    """The recorder dumps among the files, read."""
    dumps = [file for file in found.files if _is_dump(file)]
    return parallel_dumps.read_all(dumps, recorder_fragments.ranks_of(file.name for file in dumps))


def _is_dump(file: InputFile) -> bool:
    """A recorder's dump, one file a rank; parts of our own bundles are named by process, and their pages know whose."""
    return file.format in _RECORDERS and not rank_from_filename.is_bundle_part(file.name)


def recorder_set(found: InputFiles, dumps: Dumps) -> RecorderSet:
    """All recorders that there are: of dumps, or else of the first bundle that holds any."""
    if dumps.members:
        return dumps.recorders()
    for folder in found.bundles:
        evidence = capture.assemble(bundle.read(folder))
        held = {seen.rank: _with_groups(seen, seen.recorder) for seen in evidence.ranks if seen.recorder}
        if held:
            return from_recorders(held, evidence.world_size)
    return dumps.recorders()


def _with_groups(seen: RankEvidence, recorder: Recorder) -> Recorder:
    """The recorder with the groups that the rank's page names: gloo's names none."""
    return replace(recorder, groups=recorder.groups or (seen.page.groups if seen.page else ()))


def diagnose(found: InputFiles, dumps: Dumps | None = None) -> Report:
    """The verdict on everything that was found. Raises InputError where nothing of it says anything."""
    dumps = dumps or read_dumps(found)
    bundles = [capture.assemble(bundle.read(folder)) for folder in found.bundles]
    if len(bundles) == 1 and not found.files:
        return engine.examine(bundles[0])
    others = [file for file in found.files if not _is_dump(file)]
    if dumps.members and not others and not bundles:
        return _of_dumps(found, dumps)
    if len(dumps.members) > recorder_fragments.MOST_RANKS and not bundles:
        return cap_confidence(_of_very_many(found, dumps, others))
    fragments, gaps = read_files(others)
    fragments.extend(recorder_fragments.fragments(dumps))
    gaps = [*gaps, *dumps.gaps, *_not_read(found)]
    loose = assemble(fragments, gaps)
    if not bundles and not any(_tells(seen) for seen in loose.ranks) and not (loose.ranks and _remarks(loose)):
        raise _nothing(found, gaps, loose)
    loose = _with_source(loose, found)
    evidence = merge([*bundles, loose]) if bundles else loose
    report = cap_confidence(_judged(evidence))
    return _blaming_nobody(report) if evidence.ranks_unidentified else report


def _judged(evidence: Evidence) -> Report:
    """By the rules; where there are too many ranks for them, by what distinct behaviours their recorders show."""
    if len(evidence.ranks) <= MOST_RANKS:
        return engine.examine(evidence)
    held = {seen.rank: seen.recorder for seen in evidence.ranks if seen.recorder}
    if any(seen.stacks or seen.page for seen in evidence.ranks) or not held:
        return engine.examine(downsample(evidence))
    return examine_dumps(
        from_recorders(held, evidence.world_size, told=evidence.size_known), evidence.gaps, evidence.notes
    )


def _of_dumps(found: InputFiles, dumps: Dumps) -> Report:
    """The verdict where recorders are all that is left, with the lines that it names if their source lies here."""
    report = examine_dumps(dumps.recorders(), (*dumps.gaps, *_not_read(found)), tuple(recorder_fragments.notes(dumps)))
    named = [location for diagnosis in report.diagnoses for location in diagnosis.locations]
    sites = [Site(location.file, location.line, location.function) for location in named]
    return replace(report, code=local_source.read(sites, written=_written(found)))


def _of_very_many(found: InputFiles, dumps: Dumps, others: list[InputFile]) -> Report:
    """The recorders say which ranks count; stacks and logs of these, and of some that wait for them, say why."""
    report = _of_dumps(found, dumps)
    only = recorder_fragments.ranks_to_examine(report)
    fragments, gaps = read_files(others)
    loose = assemble([*fragments, *recorder_fragments.fragments(dumps, only)], gaps)
    few = replace(loose, ranks=tuple(seen for seen in loose.ranks if seen.rank in only))
    return recorder_fragments.refine(report, engine.examine(_with_source(few, found)))


def _written(found: InputFiles) -> float:
    """When the last of the evidence was written, seconds since the epoch."""
    return max((file.path.stat().st_mtime for file in found.files if file.path), default=float("inf"))


def read_files(files: Iterable[InputFile]) -> tuple[list[Fragment], list[Gap]]:
    """Every file's fragments, and what could not be read."""
    fragments: list[Fragment] = []
    gaps: list[Gap] = []
    silent: list[str] = []
    for file in files:
        try:
            data, cut = read_content(file)
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            gaps.append(Gap(Source.FILES, None, f"{file.name}: {reason}"))
            continue
        if cut:
            gaps.append(Gap(Source.FILES, None, f"{file.name}: {cut}"))
        if file.format is Format.TEXT and is_report(data):
            continue
        got = read.read(data, file.name, file.format)
        if isinstance(got, Gap):
            gaps.append(got)
        elif not got:
            silent.append(file.name)
            got = (Fragment(file.name, file.format, RankMention(silent=True)),)
        fragments.extend(got if not isinstance(got, Gap) else ())
    if silent:
        gaps.append(Gap(Source.FILES, None, f"nothing that tells a hang in {_listed(silent)}"))
    return fragments, gaps


def _not_read(found: InputFiles) -> Iterable[Gap]:
    if found.unknown:
        yield Gap(Source.FILES, None, f"of no kind that we know: {_listed(found.unknown)}")
    for name, reason in found.unreadable[:_LISTED]:
        yield Gap(Source.FILES, None, f"{name}: {reason}")
    if len(found.unreadable) > _LISTED:
        yield Gap(Source.FILES, None, f"{len(found.unreadable) - _LISTED} more files could not be read")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}"


def _with_source(evidence: Evidence, found: InputFiles) -> Evidence:
    """The source that stacks name, as far as it is here and was not written after the evidence."""
    places = tuple(source_files.sites(evidence))
    given = [file.path for file in found.files if file.path]
    roots = local_source.roots_of(dict.fromkeys(path.parent for path in given), places)
    return replace(evidence, code=local_source.read(places, written=_written(found), roots=roots))


def cap_confidence(report: Report) -> Report:
    """Nothing is certain of what was kept by hand: what the files do not hold is not known, and the source that lies
    here now need not be the one that ran. Looks of several machines have clocks that cannot be compared."""
    likely = Confidence.LIKELY
    return replace(
        report,
        diagnoses=tuple(
            replace(
                diagnosis,
                confidence=weaker(likely, diagnosis.confidence),
                culprit_confidence=weaker(likely, diagnosis.culprit_confidence),
            )
            for diagnosis in report.diagnoses
        ),
    )


def _blaming_nobody(report: Report) -> Report:
    """Whom a diagnosis names is a number that we gave: that is no more than possible."""
    diagnoses = tuple(replace(diagnosis, culprit_confidence=Confidence.POSSIBLE) for diagnosis in report.diagnoses)
    return replace(report, diagnoses=diagnoses)


def _tells(seen: RankEvidence) -> bool:
    """More than that there is such a rank. A log without a word of a hang is no sign that there is none."""
    known = (seen.page, seen.recorder, seen.stacks, seen.process, seen.exit, seen.raised)
    return any(known) or bool(seen.reported or seen.fatal or seen.children)


def _remarks(loose: Evidence) -> list[str]:
    """What is worth a word although no rank stands anywhere: complaints, a rendezvous of too many."""
    return [note for note in loose.notes if not note.startswith("rank numbers come from")]


def _nothing(found: InputFiles, gaps: list[Gap], loose: Evidence) -> InputError:
    hint = "give recorder dumps, py-spy or faulthandler stacks, logs, or a bundle"
    if not found.files and not found.unknown and not found.unreadable:
        return InputError("there is no file in what was given", hint=hint)
    if loose.ranks:
        only = f"{wording.ranks(loose.seen())} {'are' if len(loose.ranks) > 1 else 'is'} named"
        return InputError(
            f"nothing here tells why a job hangs: {only}, and no line says that one waits or failed", hint=hint
        )
    if loose.notes:
        told = "; ".join(loose.notes)
        return InputError(f"no rank is named in what was given; all that it says is: {told}", hint=hint)
    reason = gaps[0].reason if gaps else "no rank is named in it"
    return InputError(f"nothing here tells why a job hangs: {reason}", hint=hint)
