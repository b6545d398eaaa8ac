"""How lit runs the tests below test/: shell lines after `RUN:`, checked by FileCheck.

The tools of the build come first in PATH (stgc, stg-opt, stg-et), then FileCheck, not, count and split-file of LLVM.
"""
import os
import shutil

import lit.formats


def why_not_mount():
    """Why this process cannot mount with FUSE; None if it can."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return str(error)
    return None if shutil.which("fusermount3") else "there is no fusermount3 (package fuse3)"


source_root = os.path.dirname(os.path.abspath(__file__))

if not hasattr(config, "stg_tools_dir"):
    # lit was pointed at the sources: the build's site file knows the tools; it loads this file again.
    preset = lit_config.params.get("preset", "dev")
    site = os.path.join(os.path.dirname(source_root), "build", preset, "test", "lit.site.cfg.py")
    if not os.path.exists(site):
        lit_config.fatal("no build of preset '%s': run cmake --preset %s first" % (preset, preset))
    lit_config.load_config(config, site)
else:
    config.name = "stg"
    config.suffixes = [".stg", ".stgir", ".test"]
    config.excludes = ["Inputs"]
    config.test_format = lit.formats.ShTest(execute_external=False)
    config.test_source_root = source_root
    config.test_exec_root = os.path.join(config.stg_build_dir, "test-out")

    config.environment["PATH"] = os.pathsep.join(
        [config.stg_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "/usr/bin:/bin")])
    config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false --dump-input-filter=error"
    config.environment["LC_ALL"] = "C.UTF-8"
    config.environment["NO_COLOR"] = "1"
    # The unit tests look for leaks. Looking takes a third of the time of a short run, and lit makes thousands.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0"
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            config.environment[name] = os.environ[name]

    # Mounting needs libfuse3 at build time and the system's consent: root, or /dev/fuse for all and fusermount3.
    if os.path.exists(os.path.join(config.stg_tools_dir, "stg-mount")):
        config.available_features.add("stg-mount")
        reason = why_not_mount()
        if not reason:
            config.available_features.add("fuse")
    else:
        reason = "stg-mount was not built (package libfuse3-dev)"
    if reason:
        lit_config.note("bundles cannot be mounted here, tests of that are unsupported: " + reason)
    if shutil.which("mpirun"):
        config.available_features.add("mpirun")

    root = os.path.dirname(source_root)
    config.substitutions.append(("%examples", os.path.join(root, "examples")))
    config.substitutions.append(("%stdlib", os.path.join(root, "stdlib")))
    config.substitutions.append(("%build", config.stg_build_dir))
    config.substitutions.append(("%python", config.python))
    config.substitutions.append(("%cmake", config.cmake))
    config.substitutions.append(("%cxx", config.cxx))
    config.substitutions.append(("%sanitizers", "-fsanitize=address,undefined" if config.stg_sanitize else ""))
    config.substitutions.append(("%scripts", os.path.join(root, "scripts")))
