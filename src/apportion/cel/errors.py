"""The compile error. Errors at run time are values (``values.Failure``), because CEL absorbs them."""

from apportion.base import InputError


class CompileError(InputError):
    """An expression cannot be compiled; ``line`` and ``column`` count from 1, ``text`` is the bare reason."""

    def __init__(self, text: str, source: str = "", offset: int = 0) -> None:
        before = source[:offset]
        self.text = text
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        super().__init__(self._layout(source) if source else text)

    def _layout(self, source: str) -> str:
        shown = source.split("\n")[self.line - 1].replace("\t", " ")
        pointer = "." * (self.column - 1) + "^"
        return f"ERROR: <input>:{self.line}:{self.column}: {self.text}\n | {shown}\n | {pointer}"


class ResultTypeError(CompileError):
    """The expression is sound, but does not yield what a selector must."""
