"""The published messages are those that the kit sends, with the instruments that it knows."""

from fencepost_conformance.adapter import INSTRUMENTS, PROTOCOL
from fencepost_conformance.bench import _CALLS, _INSTRUMENTS, _OWN
from fencepost_conformance.messages import messages
from fencepost_spec.schemas import schema

KITS_OWN = {"journal", "release"}  # answered where the journal is


def test_every_op_of_the_kit_has_its_message():
    table = {each.op: [name.rstrip("?") for name in each.arguments] for each in messages()}
    assert table.keys() == (_CALLS.keys() | _INSTRUMENTS.keys() | _OWN.keys()) - KITS_OWN
    for op, arguments in _INSTRUMENTS.items():
        assert table[op] == list(arguments)
    for op, builders in _CALLS.items():
        assert table[op] == list(builders)


def test_every_method_of_an_instrument_is_a_message_of_it():
    methods = {
        (method.partition("(")[0], name) for name, each in INSTRUMENTS.items() for method in each.methods
    }
    assert {(each.op, each.instrument) for each in messages() if each.instrument} == methods


def test_the_schema_knows_the_protocol_and_the_instruments():
    definitions = schema("adapter-exchange")["$defs"]
    assert definitions["protocol"]["const"] == PROTOCOL
    assert definitions["instruments"]["items"]["enum"] == list(INSTRUMENTS)
    assert definitions["adapterOp"]["enum"] == [each.op for each in messages()]
