"""What the command line makes of words: sizes, and wrong use told in one sentence and a hint."""

import contextlib
import errno
import os
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, get_args

import click

from tailrace.engine import Collectives
from tailrace.errors import TailraceError
from tailrace.names import printable, shown_path
from tailrace.terminal import tell
from tailrace.units import MOST_BYTES


class _Path(click.Path):
    """A path. An empty one is what a variable of the shell leaves that is not set, and would be the
    working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


class _Page(_Path):
    """A page that is to be written. A name that promises another format is refused, not filled with
    HTML."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(super().convert(value, param, ctx))
        if (hint := NO_PAGES.get(path.suffix.lower())) is not None:
            raise TailraceError(f"{shown_path(path)}: a page is HTML, and no other format", hint)
        return path


# What a page is not, by suffix, and how to come by that.
NO_PAGES = {
    ".pdf": "name it page.html; a browser prints it to a PDF",
    ".json": "--json prints the numbers",
    ".txt": "without -o the report is printed: `> FILE` behind the command writes it to a file",
    **dict.fromkeys(
        (".csv", ".parquet", ".xlsx", ".png", ".svg", ".jpg", ".jpeg"),
        "name it page.html; docs/tutorial/python.md has tables and pictures for Python",
    ),
}
PATH = _Path(path_type=Path)
PAGE = _Page(path_type=Path)
# The exit statuses of every verb; those of programs that cannot be started are in capture/run.py.
DONE, BAD, WRONG_USE, STOPPED = 0, 1, 2, 130
# What a write to a standard output that takes no more fails with.
UNWRITABLE = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF)
LONGEST_S = 366 * 86_400.0
POWERS = {letter: power for power, letter in enumerate("KMGT", start=1)}


class Size(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A number of bytes: 65536, 64K or 64KiB (64 × 1024), 64kB (64,000)."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        if (size := bytes_of(str(value))) is None:
            self.fail(
                f"'{printable(str(value))}' is not a size such as 65536, 64K or 1M", param, ctx
            )
        if size > MOST_BYTES:
            self.fail(f"'{printable(str(value))}' is more than any file may have", param, ctx)
        return size


class Number(click.FloatRange):
    """A number in a range, in which NaN is not, though it compares as if it were."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if isnan(number):
            self.fail(f"'{printable(str(value))}' is not a number", param, ctx)
        return number


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Seconds, as a float: 90, 90s, 5m or 2h."""

    name = "duration"
    units = types.MappingProxyType({None: 1, "s": 1, "m": 60, "min": 60, "h": 3600})

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|m|min|h)?", text)
        seconds = float(found[1]) * self.units[found[2]] if found else 0.0
        if not 1 <= seconds <= LONGEST_S:
            self.fail(f"'{printable(text)}' is not a duration such as 90s, 5m or 2h", param, ctx)
        return seconds


def bytes_of(text: str) -> int | None:
    """K, M, G and T are powers of 1024, also as KiB; kB, MB, GB and TB are powers of 1000."""
    if (found := re.fullmatch(r"(\d+)([kKMGT]?)(iB|B)?", text.strip())) is None:
        return None
    number, letter, unit = int(found[1]), found[2], found[3]
    if not letter:
        return None if unit == "iB" else number
    return number * (1000 if unit == "B" else 1024) ** POWERS[letter.upper()]


Verb = TypeVar("Verb", bound=Callable[..., Any])


Cache = Literal["cold", "warm"]


def cache_option(command: Verb) -> Verb:
    """Of the verbs that predict runs on a file system."""
    return click.option(
        "--cache",
        type=click.Choice(get_args(Cache)),
        help="Whether clients have what they read in memory when the run begins [default: cold,"
        " at best warm].",
    )(command)


# The two options of every verb whose answer comes from a replay.
EAGER_LIMIT: dict[str, Any] = {
    "type": Size(),
    "metavar": "SIZE",
    "help": "Larger messages make their sender wait for the receiver [default: 32K].",
}
COLLECTIVES: dict[str, Any] = {
    "type": click.Choice(get_args(Collectives)),
    "default": "data",
    "show_default": True,
    "help": "Ranks wait only where data flow, or always for all (Dimemas).",
}


def replay_options(command: Verb) -> Verb:
    limit = click.option("--eager-limit", "eager_limit_bytes", **EAGER_LIMIT)
    return limit(click.option("--collectives", **COLLECTIVES)(command))


class Commands(click.Group):
    """A group of verbs whose every error is one sentence and a hint, never a traceback."""

    def main(self, *words: Any, **settings: Any) -> NoReturn:
        settings["standalone_mode"] = False
        sys.exit(self._status(*words, **settings))

    def _status(self, *words: Any, **settings: Any) -> int:
        answer = None
        try:
            with whole_output():
                answer = super().main(*words, **settings)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
        except click.UsageError as error:
            tell(str(explained(error)))
        except TailraceError as error:
            tell(str(error))
        except ModuleNotFoundError as error:
            tell(str(_incomplete(error)))
        except (KeyboardInterrupt, click.Abort):
            tell("stopped")
            return STOPPED
        except SystemExit as ended:
            # click's own way with a reader that has gone
            if type(sys.stdout).__name__.lstrip("_") == "PacifyFlushWrapper":
                return 0
            raise ended
        else:
            return answer if isinstance(answer, int) else DONE
        return WRONG_USE

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            if error.ctx is None and name and (verb := self.get_command(ctx, name)):
                # click's parser does not say whose option lacks its value
                error.ctx = click.Context(verb, parent=ctx, info_name=name)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            verbs = self.list_commands(ctx)
            close = difflib.get_close_matches(name, verbs, 1)
            hint = f"did you mean `{ctx.command_path} {close[0]}`?" if close else ""
            raise TailraceError(
                f"{ctx.command_path} has no command {printable(name)!r}",
                hint or f"its commands are {', '.join(verbs)}",
            )
        return super().resolve_command(ctx, args)


def _incomplete(error: ModuleNotFoundError) -> TailraceError:
    """Tailrace was installed without what it needs, or that was removed."""
    package = str(error.name).partition(".")[0]
    if package == "tailrace":
        raise error
    return TailraceError(
        f"the Python package {printable(package)} is not installed, and Tailrace needs it",
        "install Tailrace with all that it needs: `pip install --force-reinstall` and what it was "
        "installed from",
    )


@contextlib.contextmanager
def whole_output() -> Iterator[None]:
    """What is printed is also written: stdout may be full, or its reader gone."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # `tailrace report … | head` has read enough
        _drop_output()
    except OSError as error:
        if error.filename is not None:
            raise TailraceError(f"{printable(str(error.filename))}: {error.strerror}") from None
        if error.errno not in UNWRITABLE:
            raise
        _drop_output()
        raise TailraceError(
            f"standard output cannot be written: {error.strerror}",
            "write it to another file or file system",
        ) from None


class Done(SystemExit):
    """The status of a verb after which nothing is left to be done."""


def end(done: Done) -> NoReturn:
    """Ends the process: what Python gives back object by object, for 8 ms, the system takes back at
    once."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none
            stream.flush()
    os._exit(int(done.code or 0) & 0xFF)


def _drop_output() -> None:
    """What is still buffered goes nowhere, so that Python does not try again when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def explained(error: click.UsageError) -> TailraceError:
    """One of click's errors in this project's form."""
    path = error.ctx.command_path if error.ctx is not None else "tailrace"
    message, hint = _sentence(error), f"`{path} --help` shows how it is used"
    if isinstance(error, click.NoSuchOption) and (meant := _meant(error)):
        hint = f"did you mean {' or '.join(meant)}?"
    return TailraceError(printable(message), hint)


def _meant(error: click.NoSuchOption) -> list[str]:
    """The options that are like the one given. To click they are alike in their dashes already:
    --version and --json."""
    import difflib

    given = error.option_name.lstrip("-")
    return [
        option
        for option in sorted(error.possibilities or ())
        if difflib.get_close_matches(given, [option.lstrip("-")])
    ]


def _sentence(error: click.UsageError) -> str:
    match error:
        case click.NoSuchOption():
            return f"there is no option {error.option_name}"
        case click.MissingParameter():
            return f"missing {_named(error.param)}"
        case click.BadParameter():
            return f"{_named(error.param)}: {_plain(error.message)}"
    return _plain(error.message)


def _named(parameter: click.Parameter | None) -> str:
    if isinstance(parameter, click.Option):
        return parameter.opts[-1] if len(parameter.opts[-1]) > 2 else parameter.opts[0]
    return parameter.human_readable_name.split()[0].rstrip(".") if parameter else "a value"


def _plain(message: str) -> str:
    """Without the capital and the full stop."""
    text = message.rstrip(".").replace("valid integer range", "whole number")
    text = re.sub(r"is not in the range x>=(\S+)", r"is less than \1", text)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def only_with(names: Sequence[str], condition: str) -> None:
    """Refuses options that would be ignored."""
    given = [
        _named(parameter)
        for parameter in click.get_current_context().command.params
        if parameter.name in names
        and click.get_current_context().get_parameter_source(parameter.name)
        is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise TailraceError(f"{' and '.join(given)} {condition}", "leave it out")
