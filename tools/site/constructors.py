"""An extension of griffe that shows `__new__` on a class's page as `__init__`, because the stub's classes define
`__new__`."""

import griffe


class Constructors(griffe.Extension):
    def on_class_members(self, *, cls: griffe.Class, **_) -> None:
        made = cls.members.get("__new__")
        if made is None or "__init__" in cls.members:
            return
        shown = griffe.Function(
            "__init__", parameters=made.parameters, returns=None, lineno=made.lineno, endlineno=made.endlineno
        )
        shown.docstring = made.docstring
        cls.set_member("__init__", shown)
