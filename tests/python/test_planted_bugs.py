"""Bugs planted in a copy of the package: the tests beside this one must find each. The short form runs the first bug of each file of tests
(of those with PyTorch, one) and looks only whether the others still apply; TILESMITH_LONG_TESTS=1 runs all."""

import os
import shutil
import subprocess
import sys

import pytest

from conftest import HERE, ROOT

# name: file, what is there, what is put in its place, the tests that must fail
BUGS = {
    "a product of transposes is not turned": ("_prepare.py", "    first, second = (b, a) if swapped else (a, b)", "    first, second = a, b", "test_gemm.py"),
    "scales stay where they are when it is turned": (
        "_extra.py", '("scale_n", "scale_m") if prepared.swapped', '("scale_m", "scale_n") if prepared.swapped', "test_gemm.py"),
    "a bias keeps its side when it is turned": ("_prepare.py", '"m" if is_column != swapped', '"m" if is_column', "test_gemm.py"),
    "the entries of one shared matrix are read": ("_prepare.py", "        return 0 if of.entries is None else _abi.PACKED", "        return _abi.PACKED", "test_gemm.py"),
    "strides stay bytes": ("_arrays.py", "return tuple(stride // size for stride in strides)", "return tuple(strides)", "test_gemm.py"),
    "layouts that differ in an activation are taken for one": (
        "_products.py", "key = (ka, kb, kd, activation, compute,", "key = (ka, kb, kd, compute, compute,", "test_gemm.py"),
    "the alignment of c is not looked at": ("_products.py", "            low_bits |= extra.c_address & 15\n", "            pass\n", "test_gemm.py"),
    "beta is dropped where out is added to": (
        "_extra.py", "None if beta == 0 else", "None if True else", "test_gemm.py"),
    "a DLPack offset is dropped": ("_dlpack.py", "(tensor.data or 0) + tensor.byte_offset", "(tensor.data or 0)", "test_library.py"),
    "a stream of 0 is handed to a DLPack producer": ("_dlpack.py", "stream=stream or 1", "stream=stream or 0", "test_library.py"),
    "what may not be written is written": ("_prepare.py", "if not on.out.writable:", "if False:", "test_wrong_inputs.py"),
    "the shape of out is not checked": ("_prepare.py", "if on.out.shape != shape:", "if False:", "test_wrong_inputs.py"),
    "tiles are pruned as strips": ("sparse.py", '"tiles": "prune_tiles"', '"tiles": "prune"', "test_sparse.py"),
    "the stream of a sparse product is left": ("sparse.py", "tilesmith_gemm(on.library.handle, on.stream,", "tilesmith_gemm(on.library.handle, 0,", "test_sparse.py"),
    "what a sparse matrix is made in is not checked": ("sparse.py", "    _check_packed(what, view, shape, dtype)\n    if not", "    if not", "test_sparse.py"),
    "a producer is not told who reads it": ("sparse.py", "    address, key = look(array, what, on.stream)", "    address, key = look(array, what, None)", "test_sparse.py"),
    "weights to make may have any shape": (
        "_given.py", "found.shape != ((1, *shape) if len(shape) == 1 else shape)", "False", "test_weights.py"),
    "one column of bytes is always a column of bytes": ("_prepare.py", "for b in reversed(second)]", "for b in second[:1]]", "test_packed.py"),
    "the stride of an extent of 1 counts": ("_layout.py", "if extent > 1):\n        raise", "if True):\n        raise", "test_layouts.py"),
    "a sparse matrix of one row is a row": ("_prepare.py", "return first[0], second[-1]", "return first[0], second[0]", "test_sparse.py"),
    "a code that is too large is wrapped": ("weights.py", "        _check_range(given, type)\n", "        pass\n", "test_weights_inputs.py"),
    "a field of the header is forgotten": ("_abi.py", '("align_bytes", c_int32), ', '("align_bytes", c_int64), ', "test_interface.py"),
}
TORCH_BUGS = {
    "a row that is added is scaled by no beta": ("torch/_aten.py", "    if is_row and beta == 1:", "    if is_row:", "test_torch.py"),
    "every level is served": ("torch/_serving.py", "if found.level not in self.levels:", "if False:", "test_torch.py"),
    "slower kernels are served": ("torch/_serving.py", "if 0 < found.vendor_us <= found.median_us:", "if False:", "test_torch.py"),
    "a failing run counts as served": ("torch/_serving.py", "        if status:\n", "        if False:\n", "test_torch.py"),
    "a workspace is not aligned": ("torch/_serving.py", "(workspace.data_ptr() + 255) & -256", "workspace.data_ptr() + 1", "test_torch.py"),
    "overrides stay": ("torch/_enabled.py", "        overrides.close()\n", "        _OPERANDS[\"kept\"] = overrides\n", "test_torch.py"),
    "TF32 is always allowed": ("torch/_aten.py", "    return f32_compute() if a.dtype", '    return "tf32" if a.dtype', "test_torch.py"),
    "a layer takes its width from x": ("torch/_linear.py", "x.dim() > 0 and x.shape[-1] == k", "True", "test_torch_weights.py"),
    "tied tensors are loaded one by one": (
        "torch/_checkpoint.py", "fresh.setdefault(id(old), ", "fresh.setdefault(id(old) if key.startswith('e') else 0, ", "test_torch_checkpoints.py"),
    "layers of one weight are packed each": ("torch/_models.py", "_put(model, names, packed, shared, activations)", "_put(model, names, quantize(model.get_submodule(names[0]).weight, kind), shared)",
                                             "test_torch_models.py"),
    "rows are quantised at any alignment": ("_quantise.py", " or x.data_ptr() % 16:", ":", "test_torch_quantise.py"),
    "the gradient forgets alpha": ("torch/_operator.py", "torch.matmul(grad, b.mT), a) * ctx.alpha", "torch.matmul(grad, b.mT), a)", "test_torch_operator.py"),
    "the fake result of a gate is too wide": ("_activations.py", "return n // 2 if self.is_gate else n", "return n", "test_torch_operator.py"),
}


def has_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


ALL = {**BUGS, **TORCH_BUGS}
RUN = ALL if os.environ.get("TILESMITH_LONG_TESTS") else {"torch" if name in TORCH_BUGS else bug[3]: name for name, bug in reversed(ALL.items())}.values()


@pytest.mark.parametrize("name", ALL)
def test_it_applies(name):
    file, there, _, _ = ALL[name]
    assert (ROOT / "python" / "tilesmith" / file).read_text().count(there) == 1, f"{file}: expected this line once: {there}"


@pytest.mark.parametrize("name", RUN)
def test_it_is_found(name, tmp_path):
    if name in TORCH_BUGS and not has_torch():
        pytest.skip("PyTorch is not there")
    file, there, planted, tests = ALL[name]
    if tests == "test_layouts.py":
        pytest.importorskip("numpy")
    shutil.copytree(ROOT / "python" / "tilesmith", tmp_path / "tilesmith", ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "tilesmith" / file
    changed.write_text(changed.read_text().replace(there, planted))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(HERE / tests)], capture_output=True, text=True,
                          env={**os.environ, "TILESMITH_TEST_INSTALLED": "1", "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 1, f"nothing noticed it:\n{done.stdout}"
    assert " failed" in done.stdout and "ImportError" not in done.stdout and "SyntaxError" not in done.stdout
