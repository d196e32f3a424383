"""Apply a JSON Schema, our unions included, to a document, and collect what does not fit.

Theory of operation. The validator is jsonschema's for 2020-12 with four keywords of our own in its table:
``$byKey`` picks the member of a union by the key that names it; ``$ref`` looks into the shared definitions;
``pattern`` reads a closing ``$`` as the end of the string, as ECMAScript does and Python does not; ``format``
knows ``unicode-scalars``, a string without surrogates.

Two things make a scenario cheap to check, and both rest on the fact that no schema here refers to a URI. A
bare reference is replaced beforehand by the very definition that it names, so that the schemas form a graph,
and a cyclic one. And a subschema is applied without making a new validator for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from fencepost_spec.misfits import Failure, Problem, listed, message_of, rank_of, shown, suggestion

_DEFINITION = "#/$defs/"
_SURROGATE = re.compile("[\ud800-\udfff]")


_MOST_LEVELS = 100  # a scenario needs a dozen


class Validation:
    """One schema, ready to be applied again and again."""

    def __init__(self, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        linked: dict[str, Any] = {name: dict(definition) for name, definition in definitions.items()}
        for definition in linked.values():
            definition.update({key: _linked(child, linked) for key, child in definition.items()})
        self._validator = _validator_class(linked)(_linked(schema, linked))

    def problems(self, document: object) -> list[Problem]:
        """Every misfit once, in the order of the document."""
        if _deeper(document, _MOST_LEVELS):  # the validator recurses, and does not always fail in a clean way
            return [Problem((), (), "is nested too deeply")]
        found: dict[Problem, None] = {}
        for error in self._validator.iter_errors(document):
            found.update(dict.fromkeys(_problems(error, document)))
        return sorted(found)


def _deeper(document: object, levels: int) -> bool:
    """Whether containers lie in each other more than `levels` deep."""
    layer = [document]
    for _ in range(levels):
        children = [
            each.values() if isinstance(each, dict) else each
            for each in layer
            if isinstance(each, dict | list)
        ]
        layer = [child for group in children for child in group]
        if not layer:
            return False
    return True


def _problems(error: ValidationError, document: object) -> Iterator[Problem]:
    """The readable problems of one failure of the validator."""
    if error.validator == "anyOf" and (branch := _branch(error)) is not None:
        for inner in branch:
            yield from _problems(inner, document)
        return
    path = tuple(error.absolute_path)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    text = message_of(
        Failure(str(error.validator), error.validator_value, error.instance, schema, error.message)
    )
    if "propertyNames" in error.relative_schema_path:
        text = f"the key {shown(error.instance)} {text}"
    yield Problem(rank_of(path, document), path, text)


def _branch(error: ValidationError) -> list[ValidationError] | None:
    """The failures of the one alternative that has the type of the value; none if no or several have it."""
    branches: dict[str | int, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [
        branch
        for branch in branches.values()
        if not any(inner.validator in ("type", "const") and not inner.path for inner in branch)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _linked(node: Any, definitions: Mapping[str, Any]) -> Any:
    """The same schema with each bare reference replaced by the very definition that it names."""
    if isinstance(node, list):
        return [_linked(child, definitions) for child in node]
    if not isinstance(node, Mapping):
        return node
    if set(node) == {"$ref"}:
        return definitions[node["$ref"].removeprefix(_DEFINITION)]
    return {key: _linked(child, definitions) for key, child in node.items()}


def _validator_class(definitions: Mapping[str, Any]) -> Any:
    """jsonschema's validator with our keywords over these definitions."""

    def ref(validator: Any, reference: str, instance: object, schema: object) -> Iterator[ValidationError]:
        yield from validator.descend(instance, definitions[reference.removeprefix(_DEFINITION)])

    keywords = {"$ref": ref, "$byKey": _by_key, "pattern": _pattern, "format": _scalars}
    made: Any = cast(Any, extend)(Draft202012Validator, keywords)
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
    """Apply a subschema as jsonschema does, but by the validator at hand."""
    if isinstance(schema, bool):
        schema = {} if schema else {"never": True}
    for keyword, demand in schema.items():
        apply = _never if keyword == "never" else validator.VALIDATORS.get(keyword)
        if apply is None:
            continue
        for error in apply(validator, demand, instance, schema) or ():
            if not error.schema_path:
                error.validator, error.validator_value = keyword, demand
                error.instance, error.schema = instance, schema
            error.schema_path.appendleft(keyword)
            if schema_path is not None:
                error.schema_path.appendleft(schema_path)
            if path is not None:
                error.path.appendleft(path)
            yield error


def _never(validator: Any, demand: object, instance: object, schema: object) -> Iterator[ValidationError]:
    yield ValidationError("must not be here")


def _by_key(
    validator: Any, union: Mapping[str, Any], instance: object, schema: object
) -> Iterator[ValidationError]:
    """The member of a union whose naming key the object has, or what is wrong with its keys.

    A union with a *mark* takes any value: only an object with a key that begins with the mark is one of its
    kinds.
    """
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
    marked = list(instance) if mark is None else [key for key in instance if key.startswith(mark)]
    if len(named) == 1:
        yield from validator.descend(instance, kinds[named[0]])
    elif len(named) > 1:
        yield ValidationError(f"mixes the {noun} kinds {listed(named)}; split it")
    elif marked:
        near = suggestion(marked[0], list(kinds))
        yield ValidationError(f"unknown {noun} {marked[0]!r}{near}; {_one_of(noun, kinds)}")
    elif mark is None:
        yield ValidationError(f"empty {noun}; {_one_of(noun, kinds)}")
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
