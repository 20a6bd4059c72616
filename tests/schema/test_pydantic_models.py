"""Classes and type adapters of Pydantic in the place of a JSON Schema, and their source texts."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import subprocess
import sys
import uuid
from decimal import Decimal
from typing import Any

import pydantic
import pytest

import workbench as wb
from workbench.base.errors import WorkbenchError
from workbench.grammar.notation_guess import other_notation
from workbench.grammar.notations import Notation


class Line(pydantic.BaseModel, extra="forbid"):
    sku: str = pydantic.Field(max_length=8, alias="article")
    count: int = pydantic.Field(ge=1)


class Order(pydantic.BaseModel, extra="forbid"):
    number: uuid.UUID
    made: datetime.datetime
    price: Decimal
    lines: list[Line]


class Even(pydantic.BaseModel):
    value: int

    @pydantic.field_validator("value")
    @classmethod
    def is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("it is odd")
        return value


class Uncallable(pydantic.BaseModel):
    then: type


@dataclasses.dataclass
class Visit:
    day: datetime.date
    guests: int = 1


class Mode(enum.Enum):
    FAST = "fast"
    SAFE = "safe"


ORDER = (
    '{"number": "3b241101-e2bb-4255-8caf-4136c566a962", "made": "2024-02-29T12:00:00Z",'
    ' "price": "9.90", "lines": [{"article": "A1", "count": 2}]}'
)


def test_a_model_reads_its_instances() -> None:
    grammar = wb.Grammar.from_json_schema(Order)
    order = grammar.parse(ORDER)
    assert isinstance(order, Order)
    assert (order.made.day, order.price, order.lines[0].count) == (29, Decimal("9.90"), 2)
    assert not grammar.accepts(ORDER.replace('"count": 2', '"count": 0'))
    assert not grammar.accepts(ORDER.replace("02-29", "02-30"))
    # its options are those of any schema
    compact = wb.Grammar.from_json_schema(Order, whitespace="compact", order="any")
    assert not compact.accepts(ORDER)
    assert isinstance(compact.parse(order.model_dump_json(by_alias=True)), Order)


def test_a_type_adapter_reads_its_values() -> None:
    numbers = wb.Grammar.from_json_schema(pydantic.TypeAdapter(list[int]))
    assert numbers.parse("[1, 2]") == [1, 2]
    visits = wb.Grammar.from_json_schema(pydantic.TypeAdapter(Visit))
    assert visits.parse('{"day": "2024-02-29"}') == Visit(datetime.date(2024, 2, 29))
    modes = wb.Grammar.from_json_schema(pydantic.TypeAdapter(Mode))
    assert modes.parse('"safe"') is Mode.SAFE


def test_an_export_has_the_schema_of_the_model() -> None:
    program = wb.export(wb.Grammar.from_json_schema(Order, whitespace="compact"), "transformers")
    assert '"format": "date-time"' in program
    assert 'from_json_schema(GRAMMAR, whitespace="compact")' in program


def test_error_of_a_validator_is_that_of_the_model() -> None:
    grammar = wb.Grammar.from_json_schema(Even)
    assert grammar.accepts('{"value": 1}'), "a schema cannot say what a function decides"
    with pytest.raises(pydantic.ValidationError, match="it is odd"):
        grammar.parse('{"value": 1}')


#   given                            message, and the hint
WRONG: list[tuple[Any, str, str]] = [
    (Visit,                          "not the class Visit",           "use Grammar.from_dataclass(Visit), or give pydantic.TypeAdapter(Visit)"),
    (Mode,                           "not the class Mode",            "give pydantic.TypeAdapter(Mode)"),
    (Even(value=2),                  "not a JSON value",              "give a dict of JSON values"),
    (Uncallable,                     "this model has no JSON Schema", ""),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message", "hint"), WRONG, ids=[row[1] for row in WRONG])
def test_error_for_other_values(value: Any, message: str, hint: str) -> None:
    with pytest.raises(WorkbenchError) as raised:
        wb.Grammar.from_json_schema(value)
    assert message in raised.value.message
    assert hint in raised.value.hint


def test_error_of_from_dataclass_names_the_function_for_models() -> None:
    with pytest.raises(WorkbenchError) as raised:
        wb.Grammar.from_dataclass(Order)
    assert raised.value.hint == "use Grammar.from_json_schema(Order)"
    with pytest.raises(WorkbenchError) as raised:
        wb.Grammar.from_dataclass(Visit)
    assert raised.value.hint == (
        "use str, or Grammar.from_json_schema(pydantic.TypeAdapter(Visit))"
    )


SOURCE = """\
from datetime import datetime
import enum
from pydantic import BaseModel

class Order(BaseModel):
    id: int
    when: datetime
"""
PASTE = "paste what print(json.dumps(Order.model_json_schema())) prints as a JSON Schema"
ADAPTER = "use str, or the JSON Schema pydantic.TypeAdapter(CLASS).json_schema()"
DATED = "from dataclasses import dataclass\nfrom datetime import date\n@dataclass\nclass A:\n    d: date"
#   notation       source                                              the hint begins so
PASTED = [
    ("dataclass",  SOURCE,                                             PASTE),
    ("dataclass",  SOURCE.replace("from datetime import datetime\n", ""), PASTE),
    ("dataclass",  SOURCE.partition("\n\n")[2],                        PASTE),
    ("json_schema", SOURCE,                                            PASTE),
    ("json_schema", SOURCE.partition("\n\n")[2],                       PASTE),
    ("dataclass",  DATED,                                              ADAPTER),
    ("dataclass",  DATED.replace("date\n@", "date as d\n@").replace(": date", ": d"), ADAPTER),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "source", "hint"), PASTED)
def test_pasted_source_names_the_way(notation: str, source: str, hint: str) -> None:
    with pytest.raises(WorkbenchError) as raised:
        wb.Grammar.from_text(source, notation)
    assert raised.value.hint.startswith(hint)


def test_the_page_does_not_send_models_from_the_schema_to_the_dataclass() -> None:
    assert other_notation(SOURCE, Notation.JSON_SCHEMA) is None
    assert other_notation(DATED, Notation.JSON_SCHEMA) is Notation.DATACLASS
    assert other_notation(SOURCE, Notation.KBNF) is Notation.DATACLASS


def test_pydantic_is_not_imported() -> None:
    code = (
        "import sys; sys.modules['pydantic'] = None\n"
        "import workbench as wb\n"
        "class Model: pass\n"
        "print(wb.Grammar.from_json_schema({'type': 'null'}).parse('null'))\n"
        "try: wb.Grammar.from_json_schema(Model)\n"
        "except wb.WorkbenchError as error: print(error.message, '|', error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "None",
        "expected a schema, not the class Model | give pydantic.TypeAdapter(Model)",
    ]
