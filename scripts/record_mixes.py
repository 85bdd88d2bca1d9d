#!/usr/bin/env python3
"""Records which block types llama.cpp gives the tensors of a model at each of its mixes: tests/data/mixes.json.

    pip install llama-cpp-python==0.3.36 gguf numpy
    scripts/record_mixes.py tests/data/mixes.json

The models are random and small, but of the layer counts, head ratios and expert counts that the rules ask about. Per model, mix (with
and without an importance matrix) and kind of tensor, the file has the types layer by layer, equal neighbours counted: "Q6_K*2 Q4_K*13".
"""
import ctypes
import itertools
import json
import pathlib
import sys
import tempfile

import gguf
import llama_cpp
import numpy as np

# name: layers, heads, key/value heads, experts, tied output
MODELS = {"dense": (32, 4, 4, 0, False), "grouped": (17, 8, 2, 0, True), "experts8": (16, 4, 4, 8, False),
          "experts16": (8, 8, 2, 16, False)}
MIXES = {"Q4_0": 2, "Q4_1": 3, "Q5_0": 8, "Q5_1": 9, "Q8_0": 7, "Q2_K": 10, "Q2_K_S": 21, "Q3_K_S": 11,
         "Q3_K_M": 12, "Q3_K_L": 13, "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "IQ1_S": 24, "IQ1_M": 31,
         "IQ2_XXS": 19, "IQ2_XS": 20, "IQ2_S": 28, "IQ2_M": 29, "IQ3_XXS": 23, "IQ3_XS": 22, "IQ3_S": 26, "IQ3_M": 27, "IQ4_NL": 25,
         "IQ4_XS": 30, "TQ1_0": 36, "TQ2_0": 37, "MXFP4_MOE": 38}
NEED_IMPORTANCE = {"Q2_K_S", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "IQ3_XS"}
ASK_IMPORTANCE = NEED_IMPORTANCE | {"Q4_0", "Q5_0", "IQ4_NL", "IQ4_XS", "IQ3_S", "IQ3_M"}  # the others' rules do not
WIDTH = 256


class ImatrixEntry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)), ("size", ctypes.c_size_t)]


@llama_cpp.llama_log_callback
def silent(level, text, _):
    if level == 4:
        sys.stderr.write(text.decode(errors="replace"))


def write_model(path, layers, heads, kv_heads, experts, tied):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(2)
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(2)
    random = np.random.default_rng(1)
    # Quantising does not ask whether the shapes make a model, only whether the rows fit the blocks.
    matrix, vector = (2, WIDTH), (WIDTH,)
    shapes = {"token_embd": matrix, "output_norm": vector}
    if not tied:
        shapes["output"] = matrix
    for n in range(layers):
        layer = {"attn_norm": vector, "ffn_norm": vector}
        layer |= {f"attn_{part}": matrix for part in ("q", "k", "v", "output")}
        if experts:
            layer["ffn_gate_inp"] = (experts, WIDTH)
        layer |= {f"ffn_{part}" + ("_exps" if experts else ""): (2, *matrix) if experts else matrix for part in ("gate", "up", "down")}
        shapes |= {f"blk.{n}.{name}": shape for name, shape in layer.items()}
    for name, shape in shapes.items():
        dtype = np.float16 if len(shape) > 1 and "gate_inp" not in name else np.float32
        writer.add_tensor(name + ".weight", random.standard_normal(shape, dtype=np.float32).astype(dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def importance(source):
    """Ones for every matrix, as the list that llama_model_quantize takes; the arrays must outlive the call."""
    arrays = []
    for tensor in gguf.GGUFReader(source).tensors:
        if len(tensor.shape) > 1:
            columns, matrices = int(tensor.shape[0]), int(tensor.shape[2]) if len(tensor.shape) > 2 else 1
            arrays.append((tensor.name.encode(), np.ones(columns * matrices, np.float32)))
    entries = (ImatrixEntry * (len(arrays) + 1))()
    for entry, (name, values) in zip(entries, arrays):
        entry.name, entry.size = name, len(values)
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    return entries, arrays


def types_of(path):
    """{kind of tensor: "TYPE*layers ..."}, for the matrices."""
    kinds = {}
    for tensor in gguf.GGUFReader(path).tensors:
        if len(tensor.shape) > 1:
            parts = tensor.name.split(".")
            kind, layer = (parts[2], int(parts[1])) if parts[0] == "blk" else (parts[0], 0)
            kinds.setdefault(kind, {})[layer] = tensor.tensor_type.name
    return {kind: " ".join(f"{name}*{len(list(run))}" for name, run in itertools.groupby(layers[n] for n in sorted(layers)))
            for kind, layers in sorted(kinds.items())}


def main():
    llama_cpp.llama_log_set(silent, None)
    recorded = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (layers, heads, kv_heads, experts, tied) in MODELS.items():
            source, target = pathlib.Path(folder, "source.gguf"), pathlib.Path(folder, "target.gguf")
            write_model(source, layers, heads, kv_heads, experts, tied)
            entries, _arrays = importance(source)
            model = {"layers": layers, "heads": heads, "kv_heads": kv_heads, "experts": experts, "tied": tied, "mixes": {}}
            for (mix, number), known in itertools.product(MIXES.items(), (False, True)):
                if mix not in ASK_IMPORTANCE if known else mix in NEED_IMPORTANCE:
                    continue
                params = llama_cpp.llama_model_quantize_default_params()
                params.ftype, params.nthread = number, 2
                if known:
                    params.imatrix = ctypes.cast(entries, type(params.imatrix))
                if llama_cpp.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(params)) != 0:
                    sys.exit(f"llama.cpp could not make {mix} of {name}")
                model["mixes"][mix + (" imatrix" if known else "")] = types_of(target)
            recorded[name] = model
    pathlib.Path(sys.argv[1]).write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
