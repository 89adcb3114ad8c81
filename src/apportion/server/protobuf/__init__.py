"""Bodies in Kubernetes' protobuf form, which typed clients send; answers are JSON, which they accept too.

``schema/protobuf.json`` has the field numbers; ``scripts/generate_protobuf.py`` writes it and tells from what.
"""

from apportion.server.protobuf.envelope import MEDIA_TYPE, decode_body
from apportion.server.protobuf.wire import ProtobufError

__all__ = ["MEDIA_TYPE", "ProtobufError", "decode_body"]
