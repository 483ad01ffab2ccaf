"""Impure. Files -> report: reads every file, assembles the evidence, and judges it with the engine of live jobs."""

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
from ddpdoctor.merge.recorder_set import from_evidence, from_recorders
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source
from ddpdoctor.model.recorder_set import RecorderSet
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site

_RECORDERS = frozenset({Format.RECORDER_PICKLE, Format.RECORDER_JSON})
#: file names that a report lists one by one
_LISTED = 3


def read_dumps(found: InputFiles) -> Dumps:
    """Read the recorder dumps among the files."""
    dumps = [file for file in found.files if _is_dump(file)]
    return parallel_dumps.read_all(dumps, recorder_fragments.ranks_of(file.name for file in dumps))


def _is_dump(file: InputFile) -> bool:
    """Whether a file is a recorder dump of one rank. Parts of bundles are named by process and get their rank from the
    page."""
    return file.format in _RECORDERS and not rank_from_filename.is_bundle_part(file.name)


def recorder_set(found: InputFiles, dumps: Dumps) -> RecorderSet:
    """All recorders: those of the dumps, or else those of the first bundle that holds any."""
    if dumps.members:
        return dumps.recorders()
    held = (from_evidence(capture.assemble(bundle.read(folder))) for folder in found.bundles)
    return next(filter(None, held), None) or dumps.recorders()


def diagnose(found: InputFiles, dumps: Dumps | None = None) -> Report:
    """The verdict on all given files. Raises InputError if none of them holds relevant evidence."""
    return examine(found, dumps)[0]


def examine(found: InputFiles, dumps: Dumps | None = None) -> tuple[Report, Evidence | None]:
    """The verdict with its evidence; None where recorder dumps were judged without assembling any."""
    dumps = dumps or read_dumps(found)
    bundles = [capture.assemble(bundle.read(folder)) for folder in found.bundles]
    if len(bundles) == 1 and not found.files:
        return engine.examine(bundles[0]), bundles[0]
    others = [file for file in found.files if not _is_dump(file)]
    if dumps.members and not others and not bundles:
        return _diagnose_dumps(found, dumps), None
    if len(dumps.members) > recorder_fragments.MOST_RANKS and not bundles:
        return cap_confidence(_diagnose_many(found, dumps, others)), None
    fragments, gaps = read_files(others)
    fragments.extend(recorder_fragments.fragments(dumps))
    gaps = [*gaps, *dumps.gaps, *_not_read(found)]
    loose = assemble(fragments, gaps)
    if (
        not bundles
        and not any(_is_informative(seen) for seen in loose.ranks)
        and not (loose.ranks and _relevant_notes(loose))
    ):
        raise _no_evidence(found, gaps, loose)
    loose = _with_source(loose, found)
    evidence = merge([*bundles, loose]) if bundles else loose
    report = cap_confidence(_judge(evidence))
    return (_cap_culprit_confidence(report) if evidence.ranks_unidentified else report), evidence


def _judge(evidence: Evidence) -> Report:
    """Judge by the rules; if there are too many ranks for them, by the distinct behaviours that the recorders show."""
    if len(evidence.ranks) <= MOST_RANKS:
        return engine.examine(evidence)
    held = {seen.rank: seen.recorder for seen in evidence.ranks if seen.recorder}
    if any(seen.stacks or seen.page for seen in evidence.ranks) or not held:
        return engine.examine(downsample(evidence))
    return examine_dumps(
        from_recorders(held, evidence.world_size, size_known=evidence.size_known), evidence.gaps, evidence.notes
    )


def _diagnose_dumps(found: InputFiles, dumps: Dumps) -> Report:
    """The verdict from recorders alone, with the source of the lines it names if that is on this machine."""
    report = examine_dumps(dumps.recorders(), (*dumps.gaps, *_not_read(found)), tuple(recorder_fragments.notes(dumps)))
    named = [location for diagnosis in report.diagnoses for location in diagnosis.locations]
    sites = [Site(location.file, location.line, location.function) for location in named]
    return replace(report, code=local_source.read(sites, written=_written(found)))


def _diagnose_many(found: InputFiles, dumps: Dumps, others: list[InputFile]) -> Report:
    """The verdict on very many ranks: the recorders select the ranks that matter, and the stacks and logs of these
    explain why."""
    report = _diagnose_dumps(found, dumps)
    only = recorder_fragments.ranks_to_examine(report)
    fragments, gaps = read_files(others)
    loose = assemble([*fragments, *recorder_fragments.fragments(dumps, only)], gaps)
    few = replace(loose, ranks=tuple(seen for seen in loose.ranks if seen.rank in only))
    return recorder_fragments.refine(report, engine.examine(_with_source(few, found)))


def _written(found: InputFiles) -> float:
    """When the newest file was written, seconds since the epoch."""
    return max((file.path.stat().st_mtime for file in found.files if file.path), default=float("inf"))


def read_files(files: Iterable[InputFile]) -> tuple[list[Fragment], list[Gap]]:
    """The fragments of every file, and gaps for what could not be read."""
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
        gaps.append(Gap(Source.FILES, None, f"nothing relevant to a hang in {_listed(silent)}"))
    return fragments, gaps


def _not_read(found: InputFiles) -> Iterable[Gap]:
    if found.unknown:
        yield Gap(Source.FILES, None, f"format not supported: {_listed(found.unknown)}")
    for name, reason in found.unreadable[:_LISTED]:
        yield Gap(Source.FILES, None, f"{name}: {reason}")
    if len(found.unreadable) > _LISTED:
        yield Gap(Source.FILES, None, f"{len(found.unreadable) - _LISTED} more files could not be read")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}"


def _with_source(evidence: Evidence, found: InputFiles) -> Evidence:
    """Add the source that stacks name, if it is on this machine and was not modified after the evidence."""
    places = tuple(source_files.sites(evidence))
    given = [file.path for file in found.files if file.path]
    roots = local_source.roots_of(dict.fromkeys(path.parent for path in given), places)
    named = local_source.read(places, written=_written(found), roots=roots)
    imported = source_files.imported_by(named, started=_written(found))
    return replace(evidence, code={**imported, **named})


def cap_confidence(report: Report) -> Report:
    """Limit confidence to `likely`. Files kept by hand may be incomplete, the source on this machine may not be the one
    that ran, and clocks of several machines cannot be compared."""
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


def _cap_culprit_confidence(report: Report) -> Report:
    """Limit the confidence in culprits to `possible`, because the rank numbers were assigned by order of appearance."""
    diagnoses = tuple(replace(diagnosis, culprit_confidence=Confidence.POSSIBLE) for diagnosis in report.diagnoses)
    return replace(report, diagnoses=diagnoses)


def _is_informative(seen: RankEvidence) -> bool:
    """Whether more is known of a rank than that it exists. A log without signs of a hang does not show that there is
    none."""
    known = (seen.page, seen.recorder, seen.stacks, seen.process, seen.exit, seen.raised)
    return any(known) or bool(seen.reported or seen.fatal or seen.children)


def _relevant_notes(loose: Evidence) -> list[str]:
    """Notes that matter although no rank's state is known: warnings, a rendezvous with too many processes."""
    return [note for note in loose.notes if not note.startswith("rank numbers come from")]


def _no_evidence(found: InputFiles, gaps: list[Gap], loose: Evidence) -> InputError:
    hint = "give recorder dumps, py-spy or faulthandler stacks, logs, or a bundle"
    if not found.files and not found.unknown and not found.unreadable:
        return InputError("the given paths contain no files", hint=hint)
    if loose.ranks:
        only = f"{wording.ranks(loose.seen())} {'are' if len(loose.ranks) > 1 else 'is'} named"
        return InputError(f"no evidence of a hang: {only}, and no line says that a rank waits or failed", hint=hint)
    if loose.notes:
        said = "; ".join(loose.notes)
        return InputError(f"the given files name no rank; they only say: {said}", hint=hint)
    reason = gaps[0].reason if gaps else "no rank is named in it"
    return InputError(f"no evidence of a hang: {reason}", hint=hint)
