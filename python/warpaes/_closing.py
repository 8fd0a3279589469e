"""Detection, as far as possible, of whether the program itself calls ``close`` after success."""

from __future__ import annotations

import dis
import gc
import io
import sys
import threading
from types import FrameType

# Bytecode instructions that can run other code only by destroying an object.
_ENDS_OBJECTS = frozenset(
    opcode
    for name, opcode in dis.opmap.items()
    if name.startswith(("STORE_FAST", "DELETE_"))
    or name in ("STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "POP_TOP", "POP_ITER", "END_FOR")
    or name in ("RETURN_VALUE", "RETURN_CONST")
) - {dis.opmap["DELETE_SUBSCR"], dis.opmap["DELETE_ATTR"]}


def handled() -> list[BaseException]:
    """Return the exception that this thread is handling, followed by its chain of context exceptions."""
    chain: list[BaseException] = []
    error = sys.exc_info()[1]
    while error is not None and all(error is not one for one in chain):
        chain.append(error)
        error = error.__context__
    return chain


_collecting: int | None = None  # the ID of the thread that is collecting garbage; at most one thread does this


def _note_collection(phase: str, _: dict[str, int]) -> None:
    global _collecting
    _collecting = threading.get_ident() if phase == "start" else None


def watch() -> None:
    """Start recording garbage collections."""
    if _note_collection not in gc.callbacks:
        gc.callbacks.append(_note_collection)


def finalizers() -> int:
    """Return the number of finalizers that this thread is running: garbage collection, ``__del__``,
    ``weakref.finalize`` or the destruction of an object in C.
    """
    count = int(_collecting == threading.get_ident())
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        count += _is_finalizer(frame)
        frame = frame.f_back
    return count


def _is_finalizer(frame: FrameType) -> bool:
    code = frame.f_code
    if code.co_name == "__del__":
        return True
    if code.co_name == "close" and code.co_argcount:
        this = frame.f_locals.get(code.co_varnames[0])
        return isinstance(this, io.IOBase) and bool(getattr(this, "_finalizing", False))
    if code.co_name in ("__call__", "_exitfunc") and frame.f_globals.get("__name__") == "weakref":
        return code.co_name == "_exitfunc" or frame.f_locals.get("_") is not None
    return frame.f_lasti >= 0 and code.co_code[frame.f_lasti] in _ENDS_OBJECTS


def uncaught() -> BaseException | None:
    """Return the exception that is ending the program, or None. An interactive session continues after an exception."""
    error: BaseException | None = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if error is None or sys.is_finalizing() or not threading.main_thread().is_alive():
        return error
    return None
