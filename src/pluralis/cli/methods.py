"""`pluralis methods`: what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pluralis.cli.options import AsJson
from pluralis.cli.terminal import Terminal, terminal
from pluralis.display.escaping import print_json

if TYPE_CHECKING:
    from pluralis.method import Method


def methods(as_json: AsJson = False) -> None:
    """What there is, with each method's guarantee and known breaks."""
    from pluralis.method import methods as known_methods

    if as_json:
        print_json({name: _described(method) for name, method in known_methods().items()})
    else:
        show_methods(terminal(), known_methods())


def _described(method: type[Method]) -> dict[str, Any]:
    return {
        "title": method.title,
        "paper": method.paper,
        "kind": method.kind,
        "guarantee": method.guarantee,
        "breaks": list(method.breaks),
        "options": {option: field.default for option, field in method.model_fields.items()},
    }


def show_methods(console: Terminal, methods: Mapping[str, type[Method]]) -> None:
    for name, method in methods.items():
        console.say("[bold]{}[/]  {}  [dim]({}; kind {})[/]", name, method.title, method.paper, method.kind)
        console.say("  guarantees  {}", method.guarantee)
        for item in method.breaks:
            console.say("  [dim]not stopped[/] {}", item)
        for option, field in method.model_fields.items():
            if option != "variant":
                description = f": {field.description}" if field.description else ""
                console.say("  [dim]option[/]      {} = {}{}", option, str(field.default), description)
