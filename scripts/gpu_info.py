#!/usr/bin/env python3
"""Prints what GPU this machine has, as JSON, asking libcuda itself: no toolkit and no nvidia-smi needed.

  gpu_info.py           {"device": ..., "compute_capability": "9.0", "sm_count": ..., "driver": ..., "cuda_driver": "13.0"}
  gpu_info.py --quiet   prints nothing

Exit status 0: a device that Tilesmith can use (compute capability 8.0 or newer); 1: none.
"""
import ctypes
import json
import os
import re
import sys

ATTRIBUTE_SM_COUNT = 16
ATTRIBUTE_MAJOR = 75
ATTRIBUTE_MINOR = 76


def open_library(name):
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def driver_version():
    """The driver's own version ("580.65.06"), or "" where nothing tells it."""
    nvml = open_library("libnvidia-ml.so.1")
    if nvml is not None and nvml.nvmlInit_v2() == 0:
        text = ctypes.create_string_buffer(96)
        status = nvml.nvmlSystemGetDriverVersion(text, len(text))
        nvml.nvmlShutdown()
        if status == 0:
            return text.value.decode()
    for path in ("/sys/module/nvidia/version", "/proc/driver/nvidia/version"):
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                found = re.search(r"\d+\.\d+(\.\d+)?", file.read())
                if found:
                    return found.group(0)
    return ""


def first_device():
    """Facts of device 0, or None if there is none to use."""
    cuda = open_library("libcuda.so.1")
    if cuda is None or cuda.cuInit(0) != 0:
        return None
    count = ctypes.c_int(0)
    if cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return None
    device = ctypes.c_int(0)
    if cuda.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return None
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, len(name), device)

    def attribute(which):
        value = ctypes.c_int(0)
        cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    version = ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    return {
        "device": name.value.decode(errors="replace"),
        "compute_capability": f"{attribute(ATTRIBUTE_MAJOR)}.{attribute(ATTRIBUTE_MINOR)}",
        "sm_count": attribute(ATTRIBUTE_SM_COUNT),
        "driver": driver_version(),
        "cuda_driver": f"{version.value // 1000}.{version.value % 1000 // 10}",
    }


def main():
    facts = first_device()
    if "--quiet" not in sys.argv[1:]:
        print(json.dumps(facts or {}))
    usable = facts is not None and int(facts["compute_capability"].split(".")[0]) >= 8
    return 0 if usable else 1


if __name__ == "__main__":
    sys.exit(main())
