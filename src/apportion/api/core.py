"""Views of core/v1 and its neighbours, as far as scheduling reads them (Kubernetes 1.37 field names)."""

from msgspec import field

from apportion.api.pod_volumes import Volume
from apportion.api.view import (
    Condition,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    QuantityText,
    ResourceList,
    View,
)


class Taint(View):
    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(View):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeSpec(View):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    pod_cidr: str = field(name="podCIDR", default="")


class ContainerImage(View):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(View):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ContainerPort(View):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(name="hostIP", default="")
    protocol: str = "TCP"


class ContainerClaim(View):
    name: str = ""
    request: str = ""


class ResourceRequirements(View):
    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[ContainerClaim, ...] = ()


class ContainerRestartRule(View):
    action: str = ""


class VolumeMount(View):
    bind_mount_options: tuple[str, ...] = ()


class Container(View):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class EphemeralContainer(View):
    volume_mounts: tuple[VolumeMount, ...] = ()


class PreferredSchedulingTerm(View):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(View):
    required: NodeSelector | None = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodAffinityTerm(View):
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(View):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(View):
    """Of pod affinity and pod anti-affinity alike."""

    required: tuple[PodAffinityTerm, ...] = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=())
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(View):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(View):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(View):
    name: str = ""


class PodResourceClaim(View):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(View):
    pod_group_name: str = ""


class PodSpec(View):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[EphemeralContainer, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    overhead: ResourceList = {}
    host_network: bool = False
    host_users: bool | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ResourceRequirements | None = None
    runtime_class_name: str = ""
    scheduling_group: PodSchedulingGroup | None = None


class PodResourceClaimStatus(View):
    name: str = ""
    resource_claim_name: str | None = None


class ContainerStatus(View):
    name: str = ""
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class NodeAllocatableAmount(View):
    name: str = ""
    quantity: QuantityText = "0"


class NodeAllocatableExtra(View):
    name: str = ""
    per_pod: QuantityText | None = None
    per_container: QuantityText | None = None


class NodeAllocatableClaim(View):
    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    mapping: tuple[NodeAllocatableAmount, ...] = ()
    overhead: tuple[NodeAllocatableExtra, ...] = ()


class PodStatus(View):
    phase: str = "Pending"
    start_time: str | None = None
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableClaim, ...] = ()
    resize: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}


class Pod(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class Namespace(View):
    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(View):
    selector: dict[str, str] = {}


class Service(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(View):
    replicas: int | None = None
    selector: dict[str, str] = {}


class ReplicationController(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class WorkloadSpec(View):
    """The part that ReplicaSet, StatefulSet and Deployment share for spreading: their selector."""

    replicas: int | None = None
    selector: LabelSelector | None = None


class ReplicaSet(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class StatefulSet(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class PodDisruptionBudgetSpec(View):
    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(View):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(View):
    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class RuntimeClassOverhead(View):
    pod_fixed: dict[str, QuantityText] = {}


class RuntimeClassScheduling(View):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(View):
    metadata: ObjectMeta = ObjectMeta()
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None
