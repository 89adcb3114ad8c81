"""The plugin framework: interfaces, statuses, columns, plans and profiles. See README.md."""

from apportion.sched.framework.columns import (
    FilterColumn,
    MaskColumn,
    RowGroups,
    ScoreColumn,
    Scored,
    ZeroScore,
)
from apportion.sched.framework.commands import (
    AddClaimFinalizer,
    AllocateClaim,
    BindPod,
    BindVolume,
    ClearNomination,
    Command,
    DeallocateClaim,
    DeletePod,
    EmitEvent,
    MarkDisrupted,
    Outcome,
    PatchPodCondition,
    ReserveClaim,
    SelectNode,
    UnreserveClaim,
)
from apportion.sched.framework.diagnosis import PRE_FILTER, Diagnosis, diagnose
from apportion.sched.framework.plan import Plan, Planner
from apportion.sched.framework.plugin import CommandGenerator, NodeProbe, PostFilterResult, PreFilterResult
from apportion.sched.framework.profile import PluginUse, Profile, build_profile
from apportion.sched.framework.ranking import Ranking
from apportion.sched.framework.status import Code, Status, error, unresolvable, unschedulable

__all__ = [
    "PRE_FILTER",
    "AddClaimFinalizer",
    "AllocateClaim",
    "BindPod",
    "BindVolume",
    "ClearNomination",
    "Code",
    "Command",
    "CommandGenerator",
    "DeallocateClaim",
    "DeletePod",
    "Diagnosis",
    "EmitEvent",
    "FilterColumn",
    "MarkDisrupted",
    "MaskColumn",
    "NodeProbe",
    "Outcome",
    "PatchPodCondition",
    "Plan",
    "Planner",
    "PluginUse",
    "PostFilterResult",
    "PreFilterResult",
    "Profile",
    "Ranking",
    "ReserveClaim",
    "RowGroups",
    "ScoreColumn",
    "Scored",
    "SelectNode",
    "Status",
    "UnreserveClaim",
    "ZeroScore",
    "build_profile",
    "diagnose",
    "error",
    "unresolvable",
    "unschedulable",
]
