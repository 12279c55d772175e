"""What the toy study found."""

from pydantic import BaseModel

from weakspot.core import Rate
from weakspot.study import Result


class Counted(BaseModel):
    words: str
    rate: Rate


class ToyResult(Result):
    counted: tuple[Counted, ...]
