"""Cores, devices, and the memory of each."""

from __future__ import annotations

import os

import jax

from mixjax.runs.memory import memory

SHARE = 0.5  # of a device's memory that programs may take together; the rest is for tables, other programs and XLA


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads() -> int:
    """Return the number of threads: one for each core of a CPU, two for each accelerator."""
    devices = jax.local_devices()
    return usable_cores() if devices[0].platform == "cpu" else 2 * len(devices)


def room_on(device: jax.Device) -> int:
    """Return the bytes that one call of a program may take: SHARE of the memory, divided among the threads.

    Devices of a CPU share the memory of the machine. An accelerator that does not report its memory has no bound.
    """
    if device.platform == "cpu":
        return int(SHARE * memory() / default_threads())
    threads = -(-default_threads() // jax.local_device_count())
    return int(SHARE * (device.memory_stats() or {}).get("bytes_limit", 2**63) / threads)
