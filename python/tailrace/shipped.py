"""The workloads, studies and models that come with Tailrace, and which file a user's word means."""

from dataclasses import dataclass
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.names import printable

PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Shipped:
    """TOML files of one kind. `noun`: one of them; `checkout`: their folder there; `package`: their
    folder beside the package when it is installed; `listed_by`: what lists them.
    """

    noun: str
    plural: str
    checkout: str
    package: str
    listed_by: str

    def folder(self) -> Path:
        for place in (PACKAGE / self.package, PACKAGE.parents[1] / self.checkout):
            if place.is_dir():
                return place
        raise TailraceError(
            f"the {self.plural} are not installed",
            f"install Tailrace again: its folder {self.checkout}/ is part of the package",
        )

    def names(self) -> list[str]:
        return sorted(file.stem for file in self.folder().glob("*.toml"))

    def find(self, word: str) -> Path:
        """The file that the word means: a name from the list, or a path."""
        path = Path(word)
        if path.suffix != ".toml" and word in self.names():
            return self.folder() / f"{word}.toml"
        if path.is_file():
            return path
        if path.suffix == ".toml":
            raise TailraceError(
                f"{printable(word)}: there is no such file",
                f"`{self.listed_by}` lists the {self.plural}",
            )
        raise TailraceError(
            f"there is no {self.noun} {printable(word)}; there are {', '.join(self.names())}",
            f"`{self.listed_by}` describes them; the path of a .toml file works as well",
        )


WORKLOADS = Shipped(
    "workload", "workloads", "workloads", "bench/workload_files", "tailrace bench --list"
)
STUDIES = Shipped("study", "studies", "studies", "study/study_files", "tailrace study list")
MODELS = Shipped("model", "models", "models", "predict/model_files", "models/README.md")
