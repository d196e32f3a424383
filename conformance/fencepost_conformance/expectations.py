"""What must be seen: how an answer is held against an expectation.

An expectation is one form or a list of them, of which one must hold. A form for a call says ``error``,
``any`` or ``ok``, or is the status document itself. Documents are compared as canonical JSON values: 1
equals 1.0, the order of keys does not matter, and true is no number.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .adapter import Answer
from .probe.values import build

FORM_KEYS = frozenset(
    {"clause", "choice", "of"}
)  # they say something about an expectation, and expect nothing

Variables = Mapping[str, Any]
Matcher = Callable[[Mapping[str, Any], Answer, Variables], str | None]


class Judgement(NamedTuple):
    """The form that held, or what speaks against every one of them."""

    held: Mapping[str, Any] | None
    message: str


def same(left: Any, right: Any) -> bool:
    """Whether two values are one canonical JSON value."""
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict):
            if not isinstance(other, dict) or one.keys() != other.keys():
                return False
            pending.extend((child, other[key]) for key, child in one.items())
        elif isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            pending.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif one != other:
            return False
    return True


def within(expected: Any, seen: Any) -> bool:
    """Whether a count is the expected one, or lies in ``{"atLeast": a, "atMost": b}``."""
    if is_range(expected):
        return bool(expected.get("atLeast", seen) <= seen <= expected.get("atMost", seen))
    return same(expected, seen)


def is_range(expected: Any) -> bool:
    """Whether an expected value is a range."""
    return isinstance(expected, dict) and bool(expected) and expected.keys() <= {"atLeast", "atMost"}


def alternatives(expect: Any) -> list[Mapping[str, Any]]:
    """The forms of an expectation."""
    return expect if isinstance(expect, list) else [expect]


def judge(expect: Any, answer: Answer, variables: Variables, match: Matcher | None = None) -> Judgement:
    """The first form that holds; without an expectation the call must have succeeded."""
    match = match or call_mismatch
    if expect is None:
        message = succeeded(answer)
        return Judgement({}, "") if message is None else Judgement(None, message)
    reasons = []
    for form in alternatives(expect):
        reason = match(form, answer, variables)
        if reason is None:
            return Judgement(form, "")
        reasons.append(reason)
    return Judgement(None, reasons[0] if len(reasons) == 1 else "no alternative holds: " + "; ".join(reasons))


def bare(expect: Any) -> Any:
    """An expectation without the keys that expect nothing, for a report."""
    if expect is None:
        return {"ok": True}
    forms = [
        {key: value for key, value in form.items() if key not in FORM_KEYS} for form in alternatives(expect)
    ]
    return forms if isinstance(expect, list) else forms[0]


def shown(answer: Answer) -> Any:
    """An answer for a report."""
    if answer.error is None:
        return {"ok": True} if answer.value is None else answer.value
    name, message = answer.error
    return {"error": name, "message": message} if message else {"error": name}


def succeeded(answer: Answer) -> str | None:
    """What speaks against success."""
    return None if answer.error is None else f"rejected with {answer.error[0]}, success expected"


def call_mismatch(form: Mapping[str, Any], answer: Answer, variables: Variables) -> str | None:
    """What speaks against one form, or None when it holds."""
    for word, matcher in _FORMS.items():
        if word in form:
            return matcher(form, answer, variables)
    return _status(form, answer, variables)


def _error(form: Mapping[str, Any], answer: Answer, variables: Variables) -> str | None:
    wanted = form["error"]
    if isinstance(wanted, dict):  # the error of a status document
        return _status(form, answer, variables)
    if answer.error is None:
        return f"succeeded, a rejection{'' if wanted is True else f' with {wanted}'} expected"
    name = answer.error[0]
    if wanted is True or name == wanted or (isinstance(wanted, list) and name in wanted):
        return None
    return f"rejected with {name}, {wanted} expected"


def _any(form: Mapping[str, Any], answer: Answer, variables: Variables) -> str | None:
    return None


def _ok(form: Mapping[str, Any], answer: Answer, variables: Variables) -> str | None:
    return succeeded(answer)


def _status(form: Mapping[str, Any], answer: Answer, variables: Variables) -> str | None:
    rejected = succeeded(answer)
    if rejected is not None:
        return rejected
    seen = answer.value
    wanted = form.get("status")
    if seen.get("status") != wanted and not (isinstance(wanted, list) and seen.get("status") in wanted):
        return f"status is {seen.get('status')!r}, {wanted!r} expected"
    return _output(form, seen, variables) or _reason(form, seen)


def _output(form: Mapping[str, Any], seen: Mapping[str, Any], variables: Variables) -> str | None:
    if "output" not in form:
        return "there is an output, none expected" if "output" in seen else None
    if "output" not in seen:
        return "there is no output"
    return None if same(build(form["output"], variables), seen["output"]) else "the output is another one"


def _reason(form: Mapping[str, Any], seen: Mapping[str, Any]) -> str | None:
    error = seen.get("error")
    if "error" not in form:
        return None if error is None else "there is an error, none expected"
    wanted = form["error"].get("reason")
    reason = error.get("reason") if isinstance(error, dict) else None
    if reason == wanted or (isinstance(wanted, list) and reason in wanted):
        return None
    return f"error.reason is {reason!r}, {wanted!r} expected"


_FORMS: Mapping[str, Matcher] = {"any": _any, "ok": _ok, "error": _error}
