"""What TLC says with `-tool`, on recorded samples."""

from fencepost_model.messages import Message, Progress, Run, messages, read


def message(code: int, text: str, severity: int = 0) -> str:
    return f"@!@!@STARTMSG {code}:{severity} @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@\n"


START = message(2262, "TLC2 Version 2.15 of Day Month 20?? (rev: d5b5a7f)") + message(
    2190, "Finished computing initial states: 1 distinct state generated at 2020-01-01 12:00:00."
)
DONE = message(2193, "Model checking completed. No error has been found.\n  Estimates of the probability ...")
COUNTS = message(
    2199, "1,901 states generated, 597 distinct states found, 0 states left on queue."
) + message(2194, "The depth of the complete state graph search is 14.")
FIRST = message(2217, '1: <Initial predicate>\n/\\ own = 0\n/\\ dec = "none"\n', 4)
SECOND = message(
    2217, '2: <Claim line 131, col 3 to line 139, col 54 of module M>\n/\\ own = 1\n/\\ dec = "none"\n', 4
)


def run(text: str) -> Run:
    return read(messages(text.splitlines(keepends=True)))


def test_text_between_messages_is_kept() -> None:
    found = list(
        messages(["before\n", "@!@!@STARTMSG 2220:0 @!@!@\n", "in\n", "@!@!@ENDMSG 2220 @!@!@\n", "after\n"])
    )
    assert found == [Message(0, 0, "before"), Message(2220, 0, "in"), Message(0, 0, "after")]


def test_a_run_that_passes_has_its_counts() -> None:
    found = run(START + DONE + COUNTS)
    assert found == Run("passed", generated=1901, distinct=597, initial=1, depth=14)
    assert found.version.startswith("TLC2 Version 2.15")


def test_progress_is_reported() -> None:
    heard: list[Progress] = []
    text = message(2200, "Progress(11) at 2020-01-01 12:00:00: 1,225 states generated (1 s/min), "
                         "454 distinct states found (1 ds/min), 94 states left on queue.")  # fmt: skip
    read(messages((START + text + DONE).splitlines()), heard.append)
    assert heard == [Progress(1225, 454, 94, 11)]


def test_an_invariant_that_broke_is_named_with_its_trace() -> None:
    found = run(START + message(2110, "Invariant Publication is violated.", 1) + FIRST + SECOND + COUNTS)
    assert (found.outcome, found.violated) == ("violated", "Publication")
    assert [entry.action for entry in found.trace] == ["Init", "Claim"]
    assert found.trace[1].state["own"] == 1


def test_an_action_property_that_broke_is_named() -> None:
    found = run(START + message(2112, "Action property OnlyOwnerCommits is violated.", 1) + FIRST + COUNTS)
    assert (found.outcome, found.violated) == ("violated", "OnlyOwnerCommits")


def test_a_liveness_counterexample_may_stutter_or_go_back() -> None:
    head = START + message(2116, "Temporal properties were violated.\n", 1) + FIRST + SECOND
    stuttering = run(head + message(2218, "3: Stuttering", 4) + COUNTS)
    assert (stuttering.outcome, stuttering.violated, stuttering.stutters) == ("violated", None, True)
    assert len(stuttering.trace) == 2
    looping = run(
        head + message(2122, "Back to state 1: <Expire line 1, col 1 to line 2, col 2 of module M>", 4)
    )
    assert (looping.loop, looping.stutters) == (0, False)


def test_a_module_that_does_not_parse_has_failed() -> None:
    text = "Semantic errors:\n\n*** Errors: 1\n\nUnknown operator: `onw'.\n"
    found = run(START + text + message(3002, "Parsing or semantic analysis failed.", 1))
    assert found.outcome == "failed"
    assert "onw" in found.problem


def test_a_run_that_just_stops_has_failed() -> None:
    assert run(START).problem == "TLC ended without a result"
