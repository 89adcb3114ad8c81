"""The syntax of names, labels and identifiers. Each check returns what is wrong, in upstream's words.

Source: apimachinery/pkg/util/validation/validation.go.
"""

import re
from functools import lru_cache
from typing import Final

_CACHE_MAX: Final = 65536
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_C_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)

_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{_LABEL.pattern}')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN.pattern}')"
)
_QUALIFIED_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_QUALIFIED.pattern}')"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '{_LABEL_VALUE.pattern}')"
)
_C_IDENTIFIER_TEXT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    f"characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    f"'{_C_IDENTIFIER.pattern}')"
)


@lru_cache(maxsize=_CACHE_MAX)
def check_dns_label(text: str) -> tuple[str, ...]:
    """Return the problems of a name of containers, requests, devices: an RFC 1123 label of up to 63 bytes."""
    problems = ("must be no more than 63 bytes",) if len(text.encode()) > 63 else ()
    return problems if _LABEL.fullmatch(text) else (*problems, _LABEL_TEXT)


@lru_cache(maxsize=_CACHE_MAX)
def check_dns_subdomain(text: str) -> tuple[str, ...]:
    """Return the problems of an object name: an RFC 1123 subdomain of up to 253 bytes."""
    problems = ("must be no more than 253 characters",) if len(text.encode()) > 253 else ()
    return problems if _SUBDOMAIN.fullmatch(text) else (*problems, _SUBDOMAIN_TEXT)


@lru_cache(maxsize=_CACHE_MAX)
def check_qualified_name(text: str) -> tuple[str, ...]:
    """Return the problems of a label key, resource name or topology key: ``[prefix/]name``."""
    prefix, slash, name = text.partition("/")
    if not slash:
        prefix, name = "", text
    elif "/" in name:
        return (f"a qualified name {_QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/'",)
    problems: list[str] = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {p}" for p in check_dns_subdomain(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _QUALIFIED.fullmatch(name):
        problems.append(f"name part {_QUALIFIED_TEXT}")
    return tuple(problems)


@lru_cache(maxsize=_CACHE_MAX)
def check_label_value(text: str) -> tuple[str, ...]:
    """Return the problems of a label's value."""
    problems = ("must be no more than 63 bytes",) if len(text.encode()) > 63 else ()
    return problems if _LABEL_VALUE.fullmatch(text) else (*problems, _LABEL_VALUE_TEXT)


def check_c_identifier(text: str) -> tuple[str, ...]:
    """Return the problems of the id part of an attribute or capacity name."""
    return () if _C_IDENTIFIER.fullmatch(text) else (_C_IDENTIFIER_TEXT,)


def is_semver(text: str) -> bool:
    """Return whether the text is a version by semver.org 2.0.0 (no leading zeros, three parts)."""
    return _SEMVER.fullmatch(text) is not None
