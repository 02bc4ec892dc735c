"""Errors that more than one layer raises."""


class InertSetting(ValueError):
    """A setting that was changed and changes nothing."""

    def __init__(self, name: str, value: object, why: str) -> None:
        shown = f"={value}" if isinstance(value, (int, float, str)) else ""
        super().__init__(f"{name}{shown} changes nothing: {why}. Leave it as it is.")
        self.name = name
