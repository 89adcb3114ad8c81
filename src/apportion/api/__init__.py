"""The vocabulary of Kubernetes: typed views, quantities, selectors, kinds, defaults, admission, validation.

The views themselves are imported from where they are defined: ``view``, ``core``, ``resource`` and
``storage``.
"""

from apportion.api.admission import AdmissionContext, admit, admit_fields
from apportion.api.conversion import convert_to_preferred
from apportion.api.decode import decode_as, decode_view
from apportion.api.defaults import set_defaults
from apportion.api.feature_gates import FeatureGates
from apportion.api.identity import NameGenerator, derive_uid, fill_identity
from apportion.api.kinds import KINDS, Kind, Tree, Use, describe_object, find_kind, find_kind_of, get_kind
from apportion.api.pod_requests import nonzero_requests, pod_requests
from apportion.api.quantity import Quantity, is_quantity, parse_quantity
from apportion.api.references import fill_references
from apportion.api.selectors import (
    LabelMatcher,
    NodeMatcher,
    NodeTermMatcher,
    compile_label_selector,
    compile_node_selector,
    compile_node_selector_term,
    tolerates,
)
from apportion.api.validation import CheckCEL, validate, validate_pod_template, validate_unchanged_spec
from apportion.api.view import View

__all__ = [
    "KINDS",
    "AdmissionContext",
    "CheckCEL",
    "FeatureGates",
    "Kind",
    "LabelMatcher",
    "NameGenerator",
    "NodeMatcher",
    "NodeTermMatcher",
    "Quantity",
    "Tree",
    "Use",
    "View",
    "admit",
    "admit_fields",
    "compile_label_selector",
    "compile_node_selector",
    "compile_node_selector_term",
    "convert_to_preferred",
    "decode_as",
    "decode_view",
    "derive_uid",
    "describe_object",
    "fill_identity",
    "fill_references",
    "find_kind",
    "find_kind_of",
    "get_kind",
    "is_quantity",
    "nonzero_requests",
    "parse_quantity",
    "pod_requests",
    "set_defaults",
    "tolerates",
    "validate",
    "validate_pod_template",
    "validate_unchanged_spec",
]
