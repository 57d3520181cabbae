"""What all libraries are given: a model, a class for structured outputs, and a tool."""

from pydantic import BaseModel

MODEL = "demo/main"
# Some libraries read what stands before a slash as a provider of their own.
BARE_MODEL = "main"


class City(BaseModel):
    name: str


def new_lookup():
    """A tool, and the list of the arguments that it was called with."""
    ran = []

    def client_lookup(city: str) -> str:
        """Looks something up about a city.

        Args:
            city: the name of the city
        """
        ran.append(city)
        return f"Five degrees in {city}"

    return client_lookup, ran
