"""Draws trials: batching, overlap of stages, stop rules, races, budgets, executors."""

from weakspot.engine import stop
from weakspot.engine.engine import Broken, Engine, Want
from weakspot.engine.executor import Cluster, Executor, LocalExecutor, Placed, local
from weakspot.engine.race import Claim, ConfirmSettings, RaceSettings, confirm, findings, race
from weakspot.engine.stop import Budget, BudgetSpent, Spending, StopRule
from weakspot.engine.watch import Lane, State, Watch

__all__ = [
    "Broken",
    "Budget",
    "BudgetSpent",
    "Claim",
    "Cluster",
    "ConfirmSettings",
    "Engine",
    "Executor",
    "Lane",
    "LocalExecutor",
    "Placed",
    "RaceSettings",
    "Spending",
    "State",
    "StopRule",
    "Want",
    "Watch",
    "confirm",
    "findings",
    "local",
    "race",
    "stop",
]
