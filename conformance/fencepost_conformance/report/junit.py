"""The report as JUnit XML: one suite for each chapter, one test case for each clause, named by its id.

| verdict | test case |
|---|---|
| passed | without a child |
| failed | `failure`: the first difference as its message, all with their replay lines as its text |
| errored | `error` |
| unmeasured | `skipped`, with the instruments that would close it |
| no verdict | `skipped`, with the standing and the choices that the Host was seen to take |

Failed checks that no clause answers for are test cases of a suite of their own, `unattributed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from ..results import CheckResult
from ..verdict import Blame, ClauseRecord
from . import facts
from .model import Report

CHILD = {"failed": "failure", "errored": "error", "unmeasured": "skipped", None: "skipped"}


def render(report: Report) -> str:
    """The report as an XML document."""
    root = ET.Element("testsuites", name="fencepost", time=f"{report.seconds:.3f}")
    for chapter, records in report.chapters():
        cases = [_case(report, record) for record in records]
        _suite(report, root, chapter, cases)
    if report.run.unattributed:
        _suite(
            report, root, "unattributed", [_unattributed(report, each) for each in report.run.unattributed]
        )
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _suite(report: Report, root: ET.Element, name: str, cases: Sequence[ET.Element]) -> None:
    def count(tag: str) -> str:
        return str(sum(case.find(tag) is not None for case in cases))

    suite = ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(cases)),
        failures=count("failure"),
        errors=count("error"),
        skipped=count("skipped"),
    )
    properties = ET.SubElement(suite, "properties")
    for key, text in (
        ("host", f"{report.host.name} {report.host.version}"),
        *((("standing", report.host.standing),) if report.host.foreign else ()),
        ("seed", str(report.seed)),
        ("catalogue", report.kit.catalogue_digest),
        ("probe", report.kit.probe_digest),
        ("verdict", report.verdict_line),
    ):
        ET.SubElement(properties, "property", name=key, value=facts.plain(text))
    suite.extend(cases)


def _case(report: Report, record: ClauseRecord) -> ET.Element:
    seconds = sum(check.seconds for check in record.checks)
    case = ET.Element(
        "testcase",
        name=record.clause.id,
        classname=f"fencepost.{record.clause.chapter}",
        time=f"{seconds:.3f}",
    )
    if record.verdict == "passed":
        return case
    child = ET.SubElement(case, CHILD[record.verdict], message=facts.plain(_message(record)))
    if record.blames:
        child.text = "\n" + "\n".join(_lines(report, record.blames)) + "\n"
    return case


def _message(record: ClauseRecord) -> str:
    if record.verdict == "failed":
        return record.blames[0].difference.message or "the check failed"
    choices = ", ".join(record.choices)
    return facts.why(record) + (f"; seen: {choices}" if choices else "")


def _lines(report: Report, blames: Sequence[Blame]) -> list[str]:
    lines = []
    for blame in blames:
        difference = blame.difference
        lines += [
            facts.plain(f"{blame.scenario} {difference.at}: {difference.message}"),
            f"  expected {facts.value(difference.expected, 2000)}",
            f"  seen     {facts.value(difference.seen, 2000)}",
            facts.plain(f"  {report.replay_line(blame.scenario)}"),
        ]
    return lines


def _unattributed(report: Report, check: CheckResult) -> ET.Element:
    case = ET.Element(
        "testcase", name=check.scenario, classname="fencepost.unattributed", time=f"{check.seconds:.3f}"
    )
    blames = [Blame(check.scenario, difference) for difference in check.differences]
    error = ET.SubElement(case, "error", message="the check failed, and blames no clause that has a verdict")
    error.text = "\n" + "\n".join(_lines(report, blames)) + "\n"
    return case
