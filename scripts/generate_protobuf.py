"""Writes the table of protobuf field numbers from the type information in a kubectl binary.

usage: python scripts/generate_protobuf.py PATH/OF/kubectl VERSION > src/apportion/server/schema/protobuf.json

A Go program carries a description of its types, with the tags of their fields; for the API's types these name each
field in JSON and its number and wire type in protobuf. For each type of ``table.json``: field number -> JSON name and,
behind a colon, what the schema does not tell: ``b`` bytes, which are base64 in JSON; ``m`` a time with microseconds;
``k`` a scalar that is shown also when it is zero; ``o`` a message that is not shown when it is empty. ``+type`` is an
embedded message, whose fields stand beside the others in JSON. The layout of type descriptions is that of Go's internal/abi
(64 bit, little endian).
"""

import json
import struct
import sys
from pathlib import Path
from typing import Any, NamedTuple

SCHEMA = Path(__file__).parents[1] / "src/apportion/server/schema/table.json"
PACKAGES = ("k8s.io/api/", "k8s.io/apimachinery/pkg/apis/", "k8s.io/apimachinery/pkg/")
UINT8, MAP, POINTER, SLICE, STRUCT = 8, 21, 22, 23, 25
HAS_PACKAGE, HAS_STAR = 1, 2
NAME_HAS_TAG = 2


class Section(NamedTuple):
    address: int
    content: bytes


class Program:
    """The type information of one ELF file."""

    def __init__(self, raw: bytes) -> None:
        self.sections = read_sections(raw)
        self.types = self.sections[".rodata"].address

    def read(self, address: int, layout: str) -> tuple[Any, ...]:
        for section in self.sections.values():
            offset = address - section.address
            if 0 <= offset < len(section.content):
                return struct.unpack_from("<" + layout, section.content, offset)
        raise ValueError(f"no section has {address:#x}")

    def read_name(self, address: int) -> tuple[str, str]:
        """Return a name and its tag."""
        (flags,) = self.read(address, "B")
        name, address = self.read_text(address + 1)
        return name, self.read_text(address)[0] if flags & NAME_HAS_TAG else ""

    def read_text(self, address: int) -> tuple[str, int]:
        length = shift = 0
        while True:
            (byte,) = self.read(address, "B")
            address += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        return self.read(address, f"{length}s")[0].decode(), address + length

    def get_kind(self, address: int) -> int:
        return int(self.read(address, "QQIBBBB")[6]) & 31

    def get_full_name(self, address: int) -> str:
        """Return package path and name of a struct."""
        flags, name_offset = self.read(address + 20, "B")[0], self.read(address + 40, "i")[0]
        name = self.read_name(self.types + name_offset)[0]
        if flags & HAS_STAR:
            name = name[1:]
        if not flags & HAS_PACKAGE:
            return name
        (package_offset,) = self.read(address + 80, "i")  # the uncommon part stands behind the 80 bytes of a struct
        package = self.read_name(self.types + package_offset)[0]
        return f"{package}.{name.rpartition('.')[2]}"

    def list_fields(self, address: int) -> list[tuple[str, str, int]]:
        """Return name, tag and type of the fields of a struct."""
        start, count = self.read(address + 56, "QQ")
        fields = (self.read(start + 24 * i, "QQQ") for i in range(count))
        return [(*self.read_name(name), kind) for name, kind, _ in fields]

    def get_element(self, address: int) -> int:
        return int(self.read(address + 48, "Q")[0])

    def list_structs(self) -> dict[str, int]:
        links = self.sections[".typelink"].content
        found = {}
        for (offset,) in struct.iter_unpack("<i", links):
            address = self.types + offset
            if self.get_kind(address) != POINTER:
                continue
            element = self.get_element(address)
            if self.get_kind(element) == STRUCT:
                found[self.get_full_name(element)] = element
        return found


def read_sections(raw: bytes) -> dict[str, Section]:
    if raw[:6] != b"\x7fELF\x02\x01":
        raise SystemExit("not a 64 bit little endian ELF file")
    start, size, count, names = struct.unpack_from("<Q10xHHH", raw, 0x28)
    headers = [struct.unpack_from("<IIQQQQ", raw, start + size * i) for i in range(count)]
    strings = headers[names][4]
    found = {}
    for name, kind, _, address, offset, length in headers:
        end = raw.index(b"\0", strings + name)
        if address and kind != 8:
            found[raw[strings + name : end].decode()] = Section(address, raw[offset : offset + length])
    return found


def get_tag(tag: str, name: str) -> str:
    """Return one entry of a struct tag."""
    _, _, rest = f" {tag}".partition(f' {name}:"')
    return rest.partition('"')[0]


def list_numbers(program: Program, address: int) -> dict[str, str]:
    """Return the field numbers of a struct with what is known of each field."""
    numbers = {}
    for _, tag, kind in program.list_fields(address):
        wire, (json_name, *options) = get_tag(tag, "protobuf"), get_tag(tag, "json").split(",")
        if wire in ("", "-"):
            continue
        number = wire.split(",")[1]
        if json_name:
            flags = get_flags(program, kind, options)
            numbers[number] = f"{json_name}:{flags}" if flags else json_name
        else:
            numbers[number] = "+" + get_type_name(program.get_full_name(kind))
    return numbers


def get_flags(program: Program, kind: int, options: list[str]) -> str:
    code = program.get_kind(kind)
    if is_bytes(program, kind) or (code == MAP and is_bytes(program, program.read(kind + 56, "Q")[0])):
        return "b"
    target = program.get_element(kind) if code == POINTER else kind
    if program.get_kind(target) == STRUCT:
        if program.get_full_name(target).endswith(".MicroTime"):
            return "m"
        return "o" if "omitzero" in options and code != POINTER else ""
    if code in (SLICE, MAP):
        return ""
    return "k" if code == POINTER or "omitempty" not in options else ""


def is_bytes(program: Program, kind: int) -> bool:
    return program.get_kind(kind) == SLICE and program.get_kind(program.get_element(kind)) == UINT8


def get_type_name(full: str) -> str:
    for package in PACKAGES:
        if full.startswith(package):
            return full.removeprefix(package).replace("/", ".")
    return full


def main() -> None:
    path, version = sys.argv[1:]
    program = Program(Path(path).read_bytes())
    by_name = {get_type_name(full): address for full, address in program.list_structs().items()}
    known = json.loads(SCHEMA.read_text())["types"]
    wanted = [n for n in known if n in by_name]
    table = {}
    while wanted:
        name = wanted.pop()
        if name in table:
            continue
        table[name] = list_numbers(program, by_name[name])
        wanted += [n[1:] for n in table[name].values() if n.startswith("+")]
    missing = sorted(n for n, t in known.items() if t != "*" and n not in table)
    if missing:
        print("not in this program:", *missing, file=sys.stderr)
    print(json.dumps({"source": f"kubectl {version}, from its type information"})[:-1] + ',\n"types": {')
    print(",\n".join(f"{json.dumps(n)}: {json.dumps(t, separators=(',', ':'))}" for n, t in sorted(table.items())))
    print("}}")


main()
