"""Validate against a JSON Schema and say in one line what does not fit, where, and what would.

Theory of operation. The validator is jsonschema's for 2020-12 with four keywords of our own in its table: ``$byKey``
picks the member of a union by the key that names it; ``$ref`` looks into the shared definitions without resolving
URIs; ``pattern`` reads a closing ``$`` as the end of the string, as ECMAScript does and Python does not; ``format``
knows ``unicode-scalars``, a string without surrogates. A bare reference is replaced beforehand by what it refers
to, so that the schemas form a graph, and a cyclic one: following references is most of the cost of a scenario. Each
keyword that can fail has a row in ``_MESSAGES``, which turns the failure into words.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

Place = tuple[str | int, ...]

_DEFINITION = "#/$defs/"
_SHOWN_CHARACTERS = 60
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True, order=True)
class Problem:
    """One misfit: its rank in the document, its path, and what is wrong."""

    rank: tuple[int, ...]
    path: Place = field(compare=False)
    text: str

    def __str__(self) -> str:
        """``path: text``."""
        return f"{path_text(self.path)}: {self.text}"


class Validation:
    """One schema, ready to be applied again and again."""

    def __init__(self, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        linked: dict[str, Any] = {}
        for name, definition in definitions.items():
            linked[name] = dict(definition)
        for definition in linked.values():
            definition.update({key: _linked(child, linked) for key, child in definition.items()})
        self._validator = _validator_class(linked)(_linked(schema, linked))

    def problems(self, document: object) -> list[Problem]:
        """Every misfit once, in the order of the document."""
        try:
            found = [
                problem
                for error in self._validator.iter_errors(document)
                for problem in _problems(error, document)
            ]
        except RecursionError:
            return [Problem((), (), "is nested too deeply")]
        return sorted(dict.fromkeys(found))


def _linked(node: Any, definitions: Mapping[str, Any]) -> Any:
    """The same schema with each bare reference replaced by the very definition that it names."""
    if isinstance(node, list):
        return [_linked(child, definitions) for child in node]
    if not isinstance(node, Mapping):
        return node
    if set(node) == {"$ref"}:
        return definitions[node["$ref"].removeprefix(_DEFINITION)]
    return {key: _linked(child, definitions) for key, child in node.items()}


def path_text(path: Sequence[str | int]) -> str:
    """A path as ``schedule[3].expect.status``; the root is called ``document``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _IDENTIFIER.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part)}]"
    return text or "document"


def rank_of(path: Sequence[str | int], document: Any) -> tuple[int, ...]:
    """Where a path lies in a document: the position of each of its parts, for sorting."""
    rank: list[int] = []
    for part in path:
        if isinstance(document, dict) and part in document:
            rank.append(list(document).index(part))
        elif isinstance(part, int):
            rank.append(part)
        else:
            break
        document = document[part]
    return tuple(rank)


def shown(value: object) -> str:
    """A value as short JSON, for a message."""
    text = json.dumps(value, ensure_ascii=True, default=repr)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def listed(words: Sequence[str]) -> str:
    """Words as ``a, b, c``."""
    return ", ".join(words)


def suggestion(word: object, known: Sequence[str]) -> str:
    """`` (did you mean X?)`` where one of the known words is near, else nothing."""
    near = difflib.get_close_matches(word, known, n=1) if isinstance(word, str) else []
    return f" (did you mean {near[0]}?)" if near else ""


def _problems(error: ValidationError, document: object) -> Iterator[Problem]:
    """The readable problems of one failure of the validator."""
    if error.validator == "anyOf" and (branch := _branch(error)) is not None:
        for inner in branch:
            yield from _problems(inner, document)
        return
    path = tuple(error.absolute_path)
    text = _MESSAGES[error.validator](error) if error.validator in _MESSAGES else error.message
    if "propertyNames" in error.relative_schema_path:
        text = f"the key {shown(error.instance)} {text}"
    yield Problem(rank_of(path, document), path, text)


def _branch(error: ValidationError) -> list[ValidationError] | None:
    """The failures of the one alternative that has the type of the value; none if no or several have it."""
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [
        branch
        for branch in branches.values()
        if not any(inner.validator in ("type", "const") and not inner.path for inner in branch)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _title(error: ValidationError, fallback: str) -> str:
    """The title of a shared definition, which reads as ``a status`` does; that of a whole schema does not."""
    title = str(error.schema.get("title", "")) if isinstance(error.schema, Mapping) else ""
    return title if title[:1].islower() else fallback


def _type(error: ValidationError) -> str:
    return f"must be {_title(error, _TYPES.get(str(error.validator_value), 'of another type'))}, not {shown(error.instance)}"


def _required(error: ValidationError) -> str:
    missing = [key for key in error.validator_value if key not in error.instance]
    return f"lacks {listed([repr(key) for key in missing])}"


def _additional(error: ValidationError) -> str:
    known = list(error.schema.get("properties", ()))
    unknown = [key for key in error.instance if key not in known]
    near = suggestion(unknown[0], [key for key in known if key not in error.instance])
    return f"unknown key {unknown[0]!r}{near}; the keys here are {listed(known)}"


def _dependent(error: ValidationError) -> str:
    for key, needed in error.validator_value.items():
        missing = [other for other in needed if other not in error.instance]
        if key in error.instance and missing:
            return f"has {key!r} and so needs {listed([repr(other) for other in missing])}"
    return error.message


def _enum(error: ValidationError) -> str:
    words = [word if isinstance(word, str) else shown(word) for word in error.validator_value]
    return f"must be one of {listed(words)}, not {shown(error.instance)}{suggestion(error.instance, words)}"


def _format(error: ValidationError) -> str:
    return "has a lone surrogate; a string has Unicode scalar values only"


def _length(error: ValidationError) -> str:
    least = error.validator == "minLength"
    return _bounded(
        "least" if least else "most", int(error.validator_value), "character", "characters", error
    )


def _size(error: ValidationError) -> str:
    least = str(error.validator).startswith("min")
    one, many = ("entry", "entries") if str(error.validator).endswith("Items") else ("key", "keys")
    return _bounded("least" if least else "most", int(error.validator_value), one, many, error)


def _bounded(which: str, bound: int, one: str, many: str, error: ValidationError) -> str:
    return f"must have at {which} {bound} {one if bound == 1 else many}, and has {len(error.instance)}"


def _any_of(error: ValidationError) -> str:
    types = [_TYPES[t] for t in (branch.get("type") for branch in error.validator_value) if t in _TYPES]
    return f"must be {_title(error, ' or '.join(types) or 'something else')}, not {shown(error.instance)}"


_MESSAGES: Mapping[Any, Callable[[ValidationError], str]] = {
    "$byKey": lambda error: error.message,
    "additionalProperties": _additional,
    "anyOf": _any_of,
    "const": lambda error: f"must be {shown(error.validator_value)}, not {shown(error.instance)}",
    "dependentRequired": _dependent,
    "enum": _enum,
    "format": _format,
    "maxItems": _size,
    "maxLength": _length,
    "maxProperties": _size,
    "maximum": lambda error: f"must be at most {error.validator_value}, not {shown(error.instance)}",
    "minItems": _size,
    "minLength": _length,
    "minProperties": _size,
    "minimum": lambda error: f"must be at least {error.validator_value}, not {shown(error.instance)}",
    "pattern": lambda error: (
        f"must be {_title(error, f'a match of {error.validator_value}')}, not {shown(error.instance)}"
    ),
    "required": _required,
    "type": _type,
    "uniqueItems": lambda error: "has an entry twice",
    "never": lambda error: "must not be here",
}


def _validator_class(definitions: Mapping[str, Any]) -> Any:
    """jsonschema's validator with our keywords over these definitions."""

    def ref(validator: Any, reference: str, instance: object, schema: object) -> Iterator[ValidationError]:
        yield from validator.descend(instance, definitions[reference.removeprefix(_DEFINITION)])

    keywords = {"$ref": ref, "$byKey": _by_key, "pattern": _pattern, "format": _scalars}
    made: Any = extend(Draft202012Validator, keywords)
    made.descend = _descend
    return made


def _descend(
    validator: Any,
    instance: object,
    schema: Any,
    path: str | int | None = None,
    schema_path: str | int | None = None,
    resolver: object = None,
) -> Iterator[ValidationError]:
    """Apply a subschema as jsonschema does, without a new validator each time: nothing here resolves URIs."""
    if isinstance(schema, bool):
        schema = {} if schema else {"never": True}
    for keyword, argument in schema.items():
        apply = _never if keyword == "never" else validator.VALIDATORS.get(keyword)
        if apply is None:
            continue
        for error in apply(validator, argument, instance, schema) or ():
            if not error.schema_path:
                error.validator, error.validator_value = keyword, argument
                error.instance, error.schema = instance, schema
            error.schema_path.appendleft(keyword)
            if schema_path is not None:
                error.schema_path.appendleft(schema_path)
            if path is not None:
                error.path.appendleft(path)
            yield error


def _never(validator: Any, argument: object, instance: object, schema: object) -> Iterator[ValidationError]:
    yield ValidationError("must not be here")


def _by_key(
    validator: Any, union: Mapping[str, Any], instance: object, schema: object
) -> Iterator[ValidationError]:
    """The member of a union whose naming key the object has, or what is wrong with its keys."""
    kinds, noun, mark = union["kinds"], union["noun"], union.get("mark")
    if mark is not None and not _has_mark(instance, mark):
        return
    if not isinstance(instance, dict):
        if mark is None:
            yield ValidationError(f"must be an object, not {shown(instance)}; {_one_of(noun, kinds)}")
        else:
            yield from validator.descend(instance, union["otherwise"])
        return
    named = [key for key in instance if key in kinds]
    if len(named) == 1:
        yield from validator.descend(instance, kinds[named[0]])
    elif len(named) > 1:
        yield ValidationError(f"is {len(named)} {noun} kinds at once: {listed(named)}")
    elif mark is None or any(key.startswith(mark) for key in instance):
        word = next((key for key in instance if mark is None or key.startswith(mark)), None)
        what = (
            f"unknown {noun} {word!r}{suggestion(word, list(kinds))}" if word is not None else f"empty {noun}"
        )
        yield ValidationError(f"{what}; {_one_of(noun, kinds)}")
    else:
        yield from validator.descend(instance, union["otherwise"])


def _one_of(noun: str, kinds: Mapping[str, Any]) -> str:
    article = "an" if noun[0] in "aeiou" else "a"
    return f"{article} {noun} is one of {listed(list(kinds))}"


def _has_mark(instance: object, mark: str) -> bool:
    """Whether a key anywhere below begins with the mark: most values have none, and need no further look."""
    waiting = [instance]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if any(key.startswith(mark) for key in node):
                return True
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """An ECMAScript pattern for Python: a closing ``$`` is the end of the string."""
    anchored = pattern.endswith("$") and not pattern.endswith("\\$")
    return re.compile(pattern[:-1] + r"\Z" if anchored else pattern)


def _pattern(validator: Any, pattern: str, instance: object, schema: object) -> Iterator[ValidationError]:
    if isinstance(instance, str) and _compiled(pattern).search(instance) is None:
        yield ValidationError("does not match")


def _scalars(validator: Any, name: str, instance: object, schema: object) -> Iterator[ValidationError]:
    if name == "unicode-scalars" and isinstance(instance, str) and _SURROGATE.search(instance):
        yield ValidationError("has a lone surrogate")
