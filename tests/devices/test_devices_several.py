from __future__ import annotations

import pytest

from meritnas.devices.several import backend_for, check_device_of_each, visible_gpu
from meritnas.errors import UsageError


@pytest.mark.parametrize(
    ("kind", "nccl", "backend"),
    [
        ("cuda", True, "nccl"),
        ("cuda", False, "gloo"),
        ("cpu", True, "gloo"),
        ("mps", True, "gloo"),
        ("cpu", None, "gloo"),
    ],
)
def test_numbers_travel_by_nccl_between_gpus_alone(
    kind: str, nccl: bool | None, backend: str
) -> None:
    assert backend_for(kind, nccl) == backend


@pytest.mark.parametrize(
    ("visible", "count", "gpus"),
    [
        ("", 0, [None, None]),
        ("", 2, ["0", "1"]),
        ("", 1, ["0", "0"]),
        ("3,5", 2, ["3", "5"]),
        ("GPU-a", 1, ["GPU-a", "GPU-a"]),
    ],
)
def test_each_process_of_a_machine_has_a_gpu_of_its_own(
    visible: str, count: int, gpus: list[str | None]
) -> None:
    environment = {"CUDA_VISIBLE_DEVICES": visible} if visible else {}
    assert [visible_gpu(rank, environment, count) for rank in range(2)] == gpus


def test_one_gpu_for_all_processes_is_refused() -> None:
    check_device_of_each("cpu")
    check_device_of_each("cuda")
    check_device_of_each("cuda:0")
    with pytest.raises(UsageError, match=r"'cuda:1' is one, and .* say --device cuda, and each"):
        check_device_of_each("cuda:1")
