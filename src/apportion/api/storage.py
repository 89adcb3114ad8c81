"""Views of volumes, claims on them and their classes, as far as the volume plugins read them."""

from msgspec import field

from apportion.api.core import ResourceRequirements
from apportion.api.view import LabelSelector, NodeSelector, ObjectMeta, QuantityText, ResourceList, View

# the annotations through which scheduler, volume controller and provisioners tell each other of a binding
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


class VolumeNodeAffinity(View):
    required: NodeSelector | None = None


class CSIPersistentVolumeSource(View):
    driver: str = ""
    volume_handle: str = ""


class ObjectReference(View):
    kind: str = ""
    api_version: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class PersistentVolumeSpec(View):
    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_attributes_class_name: str | None = None
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

    @property
    def class_name(self) -> str:
        """The storage class; the old annotation comes first."""
        return self.metadata.annotations.get(_OLD_CLASS, self.spec.storage_class_name)

    def is_meant_for(self, namespace: str, name: str, uid: str) -> bool:
        """Return whether the claimRef names the claim; one without uid fits any claim of that name."""
        ref = self.spec.claim_ref
        if ref is None or (ref.namespace, ref.name) != (namespace, name):
            return False
        return not ref.uid or ref.uid == uid


class PersistentVolumeClaimSpec(View):
    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"


class PersistentVolumeClaim(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: VolumePhase = VolumePhase()

    @property
    def class_name(self) -> str:
        """The storage class, empty when none is named; the old annotation comes first."""
        return self.metadata.annotations.get(_OLD_CLASS, self.spec.storage_class_name or "")

    @property
    def is_bound(self) -> bool:
        """Whether the binding is complete on both sides."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations


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


class CSIStorageCapacity(View):
    """How much storage of one class can be had in one segment of the cluster; no topology means nowhere."""

    metadata: ObjectMeta = ObjectMeta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(View):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(View):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
