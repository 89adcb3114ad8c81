"""Views of volumes, claims on them and their classes, as far as the volume plugins read them."""

from msgspec import field

from apportion.api.core import ResourceRequirements
from apportion.api.view import LabelSelector, NodeSelector, ObjectMeta, ResourceList, View


class VolumeNodeAffinity(View):
    required: NodeSelector | None = None


class CSIPersistentVolumeSource(View):
    driver: str = ""
    volume_handle: str = ""


class ObjectReference(View):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class PersistentVolumeSpec(View):
    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None


class VolumePhase(View):
    """The status of a volume or of a claim on one."""

    phase: str = ""


class PersistentVolume(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: VolumePhase = VolumePhase()


class PersistentVolumeClaimSpec(View):
    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"


class PersistentVolumeClaim(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: VolumePhase = VolumePhase()


class TopologyLabelRequirement(View):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(View):
    match_label_expressions: tuple[TopologyLabelRequirement, ...] = ()


class StorageClass(View):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(View):
    count: int | None = None


class CSINodeDriver(View):
    name: str = ""
    node_id: str = field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(View):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(View):
    attach_required: bool = True
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()
