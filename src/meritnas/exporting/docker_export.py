"""A folder from which a container with an HTTP service is built."""

from __future__ import annotations

from importlib.metadata import version

from meritnas.errors import UsageError
from meritnas.exporting.program_export import FILE as PROGRAM
from meritnas.exporting.program_export import service_source
from meritnas.exporting.python_export import python_files
from meritnas.exporting.trained import Trained

FILE = "Dockerfile"
SERVICE = "service.py"

_TEXT = """# docker build -t network . && docker run -p 127.0.0.1:8000:8000 network
FROM python:{python}-slim
RUN pip install --no-cache-dir {packages}
WORKDIR /network
COPY model.py weights.safetensors encoder.json predict.py service.py ./
USER nobody
EXPOSE 8000
ENTRYPOINT ["python", "service.py", "--host", "0.0.0.0"]
"""
_PYTHON = "3.12"


def docker_files(trained: Trained) -> dict[str, bytes]:
    """`Dockerfile`, the service, and the folder that answers for raw data.

    Raises:
        UsageError: There is no program for such data, see `program_files`.
    """
    files = python_files(trained)
    if PROGRAM not in files:
        raise UsageError(
            "a modality of this network is read by a backbone of your own, which no container can "
            "hold; use --to onnx or --to python"
        )
    packages = ["numpy", "torch", "uvicorn"]
    if b"\nfrom PIL" in files[PROGRAM]:
        packages.append("pillow")
    wanted = " ".join(f"'{name}=={_version(name)}'" for name in packages)
    text = _TEXT.format(python=_PYTHON, packages=wanted)
    return {**files, SERVICE: service_source().encode(), FILE: text.encode()}


def _version(package: str) -> str:
    """What is installed here, without what says how it was built."""
    try:
        return version(package).partition("+")[0]
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the package {package} is not installed; install it with pip install 'meritnas[serve]'"
        ) from error
