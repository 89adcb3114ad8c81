"""The error tree. A failure that is an answer is a ``Status``; these are for faults and for bad input.

::

    ApportionError
    ├── InputError            an object, file or argument from outside is wrong; the text says what to do
    │   └── ValidationError   one field of one object; carries the field path
    ├── ConfigError           a scheduler configuration file or a feature gate is wrong
    ├── LimitError            a limit would be exceeded
    └── InvariantError        our own bookkeeping is inconsistent: always a bug
"""


class ApportionError(Exception):
    """Base of all errors that this project raises on purpose."""


class InputError(ApportionError):
    """Something that came from outside cannot be used as it is."""


class ValidationError(InputError):
    """One field of an object is wrong.

    ``field`` is the path as Kubernetes prints it (``spec.devices.requests[0].name``).
    """

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}" if field else detail)
        self.field = field
        self.detail = detail


class ConfigError(InputError):
    """A configuration file, a feature gate or an option is wrong."""


class LimitError(InputError):
    """A limit on something a user can grow would be exceeded."""


class InvariantError(ApportionError):
    """Bookkeeping contradicts itself; never caused by input alone."""
