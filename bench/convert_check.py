#!/usr/bin/env python3
"""Converts checkpoints and computes the files in llama.cpp: how far its logits are from the recorded reference.

    pip install llama-cpp-python==0.3.36 gguf numpy safetensors
    bench/convert_check.py FOLDER [NAME...] [--terrace ./terrace]

FOLDER/NAME/hf is a checkpoint, FOLDER/NAME/golden.safetensors has `tokens` and `logits`. Without names, all that are there. A file that
llama.cpp does not load is listed as such.
"""

import argparse
import pathlib
import subprocess
import tempfile

import llama_cpp
import numpy as np
from safetensors.numpy import load_file

from agreement import LlamaCpp, log_softmax


class FloatLlamaCpp(LlamaCpp):
    """With keys and values in f32 and plain attention, as the recorded figures of the fixtures were measured."""

    def __init__(self, path):
        super().__init__(path)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 512
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        llama_cpp.llama_free(self.context)
        self.context = llama_cpp.llama_init_from_model(self.model, params)


def loads(path):
    params = llama_cpp.llama_model_default_params()
    params.use_extra_bufts = False
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    if model:
        llama_cpp.llama_model_free(model)
    return bool(model)


def check(terrace, folder):
    golden = load_file(folder / "golden.safetensors")
    with tempfile.TemporaryDirectory() as temporary:
        file = pathlib.Path(temporary) / "model.gguf"
        subprocess.run([terrace, "convert", folder / "hf", file, "--type", "F32"], check=True, stderr=subprocess.PIPE)
        if not loads(file):
            return "llama.cpp does not load it"
        logits = FloatLlamaCpp(file).logits(golden["tokens"])
    logits = logits[:, : golden["logits"].shape[1]]
    reference, other = log_softmax(golden["logits"]), log_softmax(logits)
    kl = (np.exp(reference) * (reference - other)).sum(-1).mean()
    error = np.abs(golden["logits"] - logits).max() / golden["logits"].std()
    return f"KL {kl:.1e}, error {error:.1e}"


def main():
    parser = argparse.ArgumentParser(description="Converted checkpoints in llama.cpp")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--terrace", default="./terrace")
    options = parser.parse_args()
    names = options.names or sorted(path.parent.parent.name for path in options.folder.glob("*/hf/model.safetensors"))
    for name in names:
        print(f"{name:16} {check(options.terrace, options.folder / name)}", flush=True)


if __name__ == "__main__":
    main()
