"""What a step call may be given, checked in one place (STP-2, STP-4, DO-2, SLP-1, WFE-1). Seconds are whole
numbers."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from fencepost.documents import scalars
from fencepost.machine.state import Kind, RetryPolicy, Rules

NO_POLICY = RetryPolicy(maximum_attempts=1, initial_delay=0, backoff="constant", maximum_delay=0)
"""Without a policy there is one attempt (DO-2)."""


class Configuration(NamedTuple):
    """What the first call of a step fixes (STP-5)."""

    policy: RetryPolicy | None = None
    seconds: int = 0
    type: str | None = None


class Misfit(Exception):
    """An argument that the Form does not admit; its text says which and why."""


def check_text(text: Any, what: str, most: int) -> str:
    """A string of 1 to `most` Unicode scalars, or Misfit (STP-2, BND-2, EVT-1)."""
    count = scalars(text) if type(text) is str else None
    if count is None or not 1 <= count <= most:
        raise Misfit(f"{what} must be a string of 1 to {most} Unicode scalars")
    return str(text)


def _whole(value: Any, what: str, least: int, most: int) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not least <= value <= most:
        raise Misfit(f"{what} must be a whole number from {least} to {most}")
    return value


def _exactly(
    value: Any, what: str, required: frozenset[str], optional: frozenset[str], rules: Rules
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Misfit(f"{what} must be an object")
    keys = value.keys()
    if not required <= keys:
        raise Misfit(f"{what}: missing {', '.join(sorted(required - keys))}")
    if not keys <= required | optional and rules.latitude.unknown_keys == "type-error":  # STP-15
        raise Misfit(f"{what}: unknown {', '.join(sorted(map(repr, keys - required - optional)))}")
    return value


_POLICY = frozenset({"maxAttempts"})
_POLICY_DEFAULTS = frozenset({"initialDelaySeconds", "backoff", "maxDelaySeconds"})
_OPTIONS = frozenset({"type", "timeoutSeconds"})


def _do(arguments: Mapping[str, Any], rules: Rules) -> Configuration:
    if arguments.get("effect") is not True:
        raise Misfit("effect must be callable")  # DO-1
    raw = arguments.get("retry")
    if raw is None:
        return Configuration(policy=NO_POLICY)
    policy = _exactly(raw, "retryPolicy", _POLICY, _POLICY_DEFAULTS, rules)
    limits = rules.limits
    values = (
        policy["maxAttempts"],
        policy.get("initialDelaySeconds", limits.delay_seconds_default),
        policy.get("backoff", "constant"),
        policy.get("maxDelaySeconds", limits.default_maximum_delay_seconds),
    )
    try:
        return _policy(*values, limits.attempts_maximum, limits.delay_seconds_maximum)
    except TypeError:  # something that cannot even be remembered
        raise Misfit("a retry policy holds whole numbers and the name of a backoff") from None


@lru_cache(maxsize=1024, typed=True)  # programs use few policies, often
def _policy(
    attempts: Any, initial: Any, backoff: Any, maximum: Any, most_attempts: int, most_seconds: int
) -> Configuration:
    if backoff not in ("constant", "exponential"):
        raise Misfit("backoff must be 'constant' or 'exponential'")
    return Configuration(
        RetryPolicy(
            _whole(attempts, "maxAttempts", 1, most_attempts),
            _whole(initial, "initialDelaySeconds", 0, most_seconds),
            backoff,
            _whole(maximum, "maxDelaySeconds", 0, most_seconds),
        )
    )


def _sleep(arguments: Mapping[str, Any], rules: Rules) -> Configuration:
    return Configuration(seconds=_whole(arguments.get("seconds"), "seconds", 0, rules.limits.sleep_seconds))


def _wait(arguments: Mapping[str, Any], rules: Rules) -> Configuration:
    options = _exactly(arguments, "wait options", _OPTIONS, frozenset(), rules)
    return Configuration(
        type=check_text(options["type"], "type", rules.limits.type_scalars),
        seconds=_whole(
            options["timeoutSeconds"],
            "timeoutSeconds",
            rules.limits.wait_seconds_minimum,
            rules.limits.wait_seconds_maximum,
        ),
    )


_CHECKS: dict[Kind, Callable[[Mapping[str, Any], Rules], Configuration]] = {
    "do": _do,
    "sleep": _sleep,
    "wait": _wait,
}


def configuration(kind: Kind, arguments: Mapping[str, Any], rules: Rules) -> Configuration:
    """The checked arguments of a step call beside its name, or Misfit."""
    return _CHECKS[kind](arguments, rules)
