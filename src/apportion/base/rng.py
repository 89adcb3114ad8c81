"""Seeded randomness (SplitMix64): the same seed gives the same decisions on every platform and version."""

_MASK = (1 << 64) - 1


class Rng:
    """A small deterministic generator; each part that needs chance gets its own through ``fork``."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def next_u64(self) -> int:
        """Return the next 64-bit unsigned integer."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        """Return an integer in ``[0, bound)``; the bias is under ``bound / 2**64``."""
        return (self.next_u64() * bound) >> 64

    def fork(self, name: str) -> "Rng":
        """Return an independent generator for the part called ``name``; ``self`` does not move."""
        h = self._state ^ 0xCBF29CE484222325
        for b in name.encode():
            h = ((h ^ b) * 0x100000001B3) & _MASK
        return Rng(h)

    def suffix(self, length: int = 5) -> str:
        """Return a name suffix from the alphabet that Kubernetes uses for generated names."""
        alphabet = "bcdfghjklmnpqrstvwxz2456789"
        return "".join(alphabet[self.below(len(alphabet))] for _ in range(length))

    def uid(self) -> str:
        """Return a version 4 UUID drawn from this generator."""
        n = (self.next_u64() << 64) | self.next_u64()
        n = (n & ~(0xF << 76)) | (4 << 76)
        n = (n & ~(0x3 << 62)) | (2 << 62)
        h = f"{n:032x}"
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
