"""The scheduler's picture of the cluster, as columns. See README.md."""

from apportion.sched.state.claim_info import ClaimInfo, consumer_of
from apportion.sched.state.claims import ClaimStore
from apportion.sched.state.cluster import ClusterState
from apportion.sched.state.counts import Clause, DomainCounter, NamespaceScope, PodCounter
from apportion.sched.state.labels import Bools, Int32s, LabelColumn
from apportion.sched.state.masks import (
    HARD_EFFECTS,
    NodeMask,
    TaintTest,
    find_untolerated,
    node_names_of,
)
from apportion.sched.state.nodes import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    Int64s,
    NodeTable,
    TaintSet,
    decode_node,
)
from apportion.sched.state.pods import PodHead, PodInfo, PodKind, PodReader, PodTemplate, Usage
from apportion.sched.state.ports import HostPort
from apportion.sched.state.terms import (
    NO_TERMS,
    PREFERRED,
    PREFERRED_ANTI,
    REQUIRED,
    REQUIRED_ANTI,
    AffinityTerm,
    PodTerms,
    RunningTerm,
    get_terms,
)
from apportion.sched.state.trial import Trial
from apportion.sched.state.volume_usage import CsiVolume, VolumeUsage, claim_keys_of, claim_name, volumes_of
from apportion.sched.state.volumes import STORAGE_KINDS, VolumeStore

__all__ = [
    "CPU",
    "EPHEMERAL_STORAGE",
    "HARD_EFFECTS",
    "MEMORY",
    "NO_TERMS",
    "PREFERRED",
    "PREFERRED_ANTI",
    "REQUIRED",
    "REQUIRED_ANTI",
    "STORAGE_KINDS",
    "AffinityTerm",
    "Bools",
    "ClaimInfo",
    "ClaimStore",
    "Clause",
    "ClusterState",
    "CsiVolume",
    "DomainCounter",
    "HostPort",
    "Int32s",
    "Int64s",
    "LabelColumn",
    "NamespaceScope",
    "NodeMask",
    "NodeTable",
    "PodCounter",
    "PodHead",
    "PodInfo",
    "PodKind",
    "PodReader",
    "PodTemplate",
    "PodTerms",
    "RunningTerm",
    "TaintSet",
    "TaintTest",
    "Trial",
    "Usage",
    "VolumeStore",
    "VolumeUsage",
    "claim_keys_of",
    "claim_name",
    "consumer_of",
    "decode_node",
    "find_untolerated",
    "get_terms",
    "node_names_of",
    "volumes_of",
]
