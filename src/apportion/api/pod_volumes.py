"""Views of the volumes in a pod's spec: those through a claim, images, and disks named in place."""

from typing import TypeAlias

from msgspec import field

from apportion.api.view import View


class PersistentVolumeClaimVolumeSource(View):
    claim_name: str = ""


class EphemeralVolumeSource(View):
    """A generic ephemeral volume; its claim is named ``<pod>-<volume>``."""


class ImageVolumeSource(View):
    reference: str = ""


class GCEPersistentDiskVolumeSource(View):
    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(View):
    volume_id: str = field(name="volumeID", default="")
    read_only: bool = False


class ISCSIVolumeSource(View):
    iqn: str = ""
    read_only: bool = False


class RBDVolumeSource(View):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


DiskSource: TypeAlias = (
    GCEPersistentDiskVolumeSource | AWSElasticBlockStoreVolumeSource | ISCSIVolumeSource | RBDVolumeSource
)


class Volume(View):
    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None

    @property
    def disk(self) -> DiskSource | None:
        """The disk that the volume names in place, of the sorts that only one node may write to."""
        return self.gce_persistent_disk or self.aws_elastic_block_store or self.iscsi or self.rbd

    @property
    def matters(self) -> bool:
        """Whether scheduling reads the volume at all; most kinds (secrets, config maps, ...) it does not."""
        through_claim = self.persistent_volume_claim or self.ephemeral
        return through_claim is not None or self.image is not None or self.disk is not None
