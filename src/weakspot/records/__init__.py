"""Evaluations that somebody has run already: tables of predictions and logs of other tools."""

from weakspot.records.judged import Judged, Roles
from weakspot.records.table import Column, Kind, LeftOut, Records

__all__ = ["Column", "Judged", "Kind", "LeftOut", "Records", "Roles"]
