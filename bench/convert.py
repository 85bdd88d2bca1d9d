#!/usr/bin/env python3
"""Measures `terrace convert` on a made checkpoint: shards of experts in BF16 (qwen3moe).

    bench/convert.py DIR [--gigabytes 0.5] [--shards 8] [--rounds 3] [--terrace ./terrace] [--keep]

Writes the checkpoint into DIR, unless it is there, and then in turns copies its bytes to a file (as `dd` does, with a sync at the end) and
converts it (without --type, so BF16 stays BF16). Prints the rate of both, their ratio, and the conversion's peak memory. Both read what the
system may have cached, so give more gigabytes than there is memory to measure the drive. DIR needs twice the size.
"""

import argparse
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time

HIDDEN, WIDTH, EXPERTS, VOCABULARY = 2048, 768, 128, 1024
PIECE = 8 << 20


def layer_tensors(layer):
    """Names and shapes of a layer, experts one by one."""
    name = f"model.layers.{layer}."
    attention = {"q_proj": (2048, HIDDEN), "k_proj": (256, HIDDEN), "v_proj": (256, HIDDEN), "o_proj": (HIDDEN, 2048)}
    yield from ((f"{name}self_attn.{part}.weight", shape) for part, shape in attention.items())
    for norm, size in (("self_attn.q_norm", 128), ("self_attn.k_norm", 128), ("input_layernorm", HIDDEN), ("post_attention_layernorm", HIDDEN)):
        yield f"{name}{norm}.weight", (size,)
    yield f"{name}mlp.gate.weight", (EXPERTS, HIDDEN)
    for expert in range(EXPERTS):
        for part, shape in (("gate_proj", (WIDTH, HIDDEN)), ("up_proj", (WIDTH, HIDDEN)), ("down_proj", (HIDDEN, WIDTH))):
            yield f"{name}mlp.experts.{expert}.{part}.weight", shape


def all_tensors(layers):
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN)
    for layer in range(layers):
        yield from layer_tensors(layer)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (VOCABULARY, HIDDEN)


def size_of(shape):
    size = 2
    for dimension in shape:
        size *= dimension
    return size


def write_shard(path, tensors):
    header, offset = {}, 0
    for name, shape in tensors:
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size_of(shape)]}
        offset += size_of(shape)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    # Small finite numbers: the high byte of a BF16 value is its sign and exponent.
    noise = bytearray(os.urandom(1 << 20))
    noise[1::2] = bytes(0x3C | byte & 0x81 for byte in noise[1::2])
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        while offset > 0:
            offset -= file.write(noise[: min(offset, len(noise))])


def write_tokenizer(folder):
    letters = [chr(256 + i) for i in range(VOCABULARY)]
    words = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    split = {"type": "Split", "pattern": {"Regex": words}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokenizer = {
        "added_tokens": [],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "model": {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(letters)}, "merges": [[letters[0], letters[1]]]},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def make_checkpoint(folder, gigabytes, shards):
    per_layer = sum(size_of(shape) for _, shape in layer_tensors(0))
    layers = max(1, round(gigabytes * 1e9 / per_layer))
    config = {
        "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": HIDDEN, "intermediate_size": WIDTH, "moe_intermediate_size": WIDTH,
        "num_hidden_layers": layers, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 128, "num_experts": EXPERTS,
        "num_experts_per_tok": 8, "vocab_size": VOCABULARY, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
        "tie_word_embeddings": False,
    }
    tensors = list(all_tensors(layers))
    marker = folder / "made.json"
    made = {"layers": layers, "shards": shards}
    if marker.exists() and json.loads(marker.read_text()) == made:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_tokenizer(folder)
    index, each = {}, -(-len(tensors) // shards)
    for shard in range(shards):
        part = tensors[shard * each : (shard + 1) * each]
        name = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        write_shard(folder / name, part)
        index.update({tensor: name for tensor, _ in part})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    marker.write_text(json.dumps(made))


def copy(folder, target):
    start = time.monotonic()
    with open(target, "wb", buffering=0) as out:
        for path in sorted(folder.glob("*.safetensors")):
            with open(path, "rb", buffering=0) as source:
                while piece := source.read(PIECE):
                    out.write(piece)
        os.fsync(out.fileno())
    return time.monotonic() - start


def convert(terrace, folder, target):
    start = time.monotonic()
    process = subprocess.Popen([terrace, "convert", folder, target], stderr=subprocess.PIPE)
    log = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"terrace convert failed: {log}")
    return seconds, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description="Speed and memory of terrace convert")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gigabytes", type=float, default=0.5)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--terrace", default="./terrace")
    parser.add_argument("--keep", action="store_true", help="leave the checkpoint for another run")
    options = parser.parse_args()

    checkpoint = options.folder / "checkpoint"
    make_checkpoint(checkpoint, options.gigabytes, options.shards)
    size = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))
    print(f"{size / 1e9:.2f} GB in {options.shards} shards")
    copied, converted = options.folder / "copy.bin", options.folder / "out.gguf"
    ratios = []
    for _ in range(options.rounds):
        copy_seconds = copy(checkpoint, copied)
        copied.unlink()
        convert_seconds, memory = convert(options.terrace, checkpoint, converted)
        converted.unlink()
        ratios.append(copy_seconds / convert_seconds)
        print(f"copy {size / copy_seconds / 1e6:.0f} MB/s, convert {size / convert_seconds / 1e6:.0f} MB/s, ratio {ratios[-1]:.2f}, "
              f"peak memory {memory / 1e6:.0f} MB", flush=True)
    print(f"median ratio {sorted(ratios)[len(ratios) // 2]:.2f}")
    if not options.keep:
        shutil.rmtree(checkpoint)


if __name__ == "__main__":
    main()
