#!/usr/bin/env python3
"""A small trained qwen4exp model with a multi-token-prediction head: Terrace beside the model's reference, and beside llama.cpp.

    pip install llama-cpp-python==0.3.36 gguf numpy safetensors
    bench/tinyflash.py --cache FOLDER [--assets ../shared]

ASSETS/tinyflash holds model-bf16.gguf, golden.safetensors and the held-out texts valid_*.txt. The files made from the model go to
FOLDER and are kept there for the next run.

1. Golden: the logits of the trunk and of the head in the reference profile against those of the checkpoint's own implementation.
2. A file without the head (llama.cpp does not know this model's), quantised by llama.cpp to Q8_0, Q4_K_M and Q2_K.
3. The first tokens of each text, on the same quantised file: how far each engine is from the logits of model-bf16.gguf (Terrace's own,
   reference profile). `weights` is Terrace's reference profile on the quantised file: what the weights alone cost, without rounding
   of activations. llama.cpp picks keys in its own way past the model's budget of positions, so the texts are cut before that.

The exit code is 1 if the golden logits are out of bounds, or if Terrace's KL is above llama.cpp's on a text or on all of them.
"""
import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import gguf
import llama_cpp
import numpy as np
from safetensors.numpy import load_file

from agreement import LlamaCpp, log_softmax

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOUNDS = {"largest": 2e-3, "kl": 1e-7, "within": 0.99, "profiles": 2e-3}
KINDS = {"Q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0, "Q4_K_M": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M,
         "Q2_K": llama_cpp.LLAMA_FTYPE_MOSTLY_Q2_K}
ENGINES = ["Terrace", "llama.cpp", "weights"]


@llama_cpp.llama_log_callback
def only_errors(level, text, _):
    if level == 4:  # GGML_LOG_LEVEL_ERROR
        sys.stderr.write(text.decode(errors="replace"))


class Peer(LlamaCpp):
    """llama.cpp with the cache type that Terrace has by default, and without flash attention."""

    def __init__(self, path, threads):
        super().__init__(path)
        llama_cpp.llama_free(self.context)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = 2048, 1024, 512
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F16
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.context = llama_cpp.llama_init_from_model(self.model, params)


class Terrace:
    def __init__(self, program, threads):
        self.program, self.threads = program.resolve(), str(threads)

    def tokenize(self, model, text):
        out = subprocess.run([self.program, "tokenize", model], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
        return json.loads(out)

    def logits(self, model, tokens, *options):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder, "tokens.json"), pathlib.Path(folder, "out.safetensors")
            source.write_text(json.dumps(tokens))
            command = [self.program, "logits", model, "--tokens", source, "--out", target, "--threads", self.threads, *options]
            subprocess.run(command, check=True)
            return load_file(target)


@contextlib.contextmanager
def made(path):
    """A path to write to, which takes its final name only when complete."""
    part = path.with_suffix(".part")
    yield part
    part.rename(path)


def without_head(source, target):
    """Copies a GGUF file, leaving out its multi-token-prediction block (the last one) and whatever speaks of it."""
    reader = gguf.GGUFReader(source)
    field = {name: f for name, f in reader.fields.items() if not name.startswith("GGUF.")}
    architecture = field["general.architecture"].contents()
    blocks = field[f"{architecture}.block_count"].contents()
    head = field.pop(f"{architecture}.nextn_predict_layers").contents()
    writer = gguf.GGUFWriter(target, architecture)  # writes general.architecture itself
    for name, f in field.items():
        if name == "general.architecture":
            continue
        value = f.contents()
        if name == f"{architecture}.block_count":
            value = blocks - head
        elif name.startswith(f"{architecture}.attention.") and isinstance(value, list) and len(value) == blocks:
            value = value[: blocks - head]  # one entry per block
        writer.add_key_value(name, value, f.types[0], f.types[-1] if f.types[0] == gguf.GGUFValueType.ARRAY else None)
    dropped = tuple(f"blk.{n}." for n in range(blocks - head, blocks))
    for tensor in reader.tensors:
        if not tensor.name.startswith(dropped):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantised(model, cache, threads):
    """The model's file of each kind in the cache folder."""
    cache.mkdir(parents=True, exist_ok=True)
    trunk = cache / "trunk-bf16.gguf"
    if not trunk.exists():
        with made(trunk) as part:
            without_head(model, part)
    files = {}
    for kind, number in KINDS.items():
        files[kind] = cache / f"trunk-{kind}.gguf"
        if files[kind].exists():
            continue
        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype, params.nthread = number, threads
        with made(files[kind]) as part:
            if llama_cpp.llama_model_quantize(str(trunk).encode(), str(part).encode(), ctypes.byref(params)) != 0:
                sys.exit(f"llama.cpp could not quantise {trunk} to {kind}")
    return files


def divergence(p, q):
    """KL(p || q) at each position, from log-probabilities."""
    return (np.exp(p) * (p - q)).sum(1)


def golden(terrace, model, expected):
    """Prints the agreement with the golden logits; false if it is out of bounds."""
    actual = terrace.logits(model, expected["tokens"].tolist(), "--numeric", "reference", "--mtp")
    print(f"golden, {len(expected['tokens'])} tokens   largest / std   mean KL  within 1e-3")
    good = True
    for name in ("logits", "mtp_logits"):
        want, got = expected[name], actual[name]
        largest = np.abs(got - want).max(1) / want.std()
        kl, within = divergence(log_softmax(want), log_softmax(got)).mean(), (largest < 1e-3).mean()
        fine = largest.max() <= BOUNDS["largest"] and kl <= BOUNDS["kl"] and within >= BOUNDS["within"]
        print(f"  {name:16} {largest.max():15.2e} {kl:9.1e} {within:12.1%}{'' if fine else '  OUT OF BOUNDS'}")
        good = good and fine
    return good


def measures(tokens, base, log_p):
    """At each position: KL(base || log_p), whether the best tokens agree, minus the log-probability of the token that follows."""
    following = np.array(tokens[1:])
    return divergence(base, log_p), log_p.argmax(1) == base.argmax(1), -log_p[np.arange(len(following)), following]


def compare(terrace, model, files, texts, threads):
    """Prints how far each engine is from the bf16 logits, by file and text; returns where Terrace is further away than llama.cpp."""
    base = {text: log_softmax(terrace.logits(model, tokens, "--numeric", "reference")["logits"]) for text, tokens in texts.items()}
    losses = {text: measures(tokens, base[text], base[text])[2] for text, tokens in texts.items()}
    losses["all"] = np.concatenate(list(losses.values()))
    print("\nperplexity of the bf16 file:", ", ".join(f"{text} {np.exp(loss.mean()):.3f}" for text, loss in losses.items()))
    worse = []
    for kind, path in files.items():
        peer = Peer(path, threads)
        found, rounding = {}, {}
        for text, tokens in texts.items():
            logits = [terrace.logits(path, tokens)["logits"], peer.logits(tokens),
                      terrace.logits(path, tokens, "--numeric", "reference")["logits"]]
            rounding[text] = divergence(log_softmax(logits[2]), log_softmax(logits[0])).mean()
            found[text] = [measures(tokens, base[text], log_softmax(x)) for x in logits]
        found["all"] = [[np.concatenate(parts) for parts in zip(*engine)] for engine in zip(*found.values())]
        print(f"\n{kind:8} {'':10} {'KL(bf16 || it)':>15} {'same best':>10} {'perplexity':>11}")
        for text, engines in found.items():
            for name, (kl, same, loss) in zip(ENGINES, engines):
                print(f"{text:8} {name:10} {kl.mean():15.4e} {same.mean():10.1%} {np.exp(loss.mean()):11.3f}")
            if engines[0][0].mean() > engines[1][0].mean():
                worse.append(f"{kind} {text}")
        print("KL(reference profile || standard profile):", ", ".join(f"{text} {kl:.1e}" for text, kl in rounding.items()))
        if max(rounding.values()) > BOUNDS["profiles"]:
            worse.append(f"{kind} its own reference profile")
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=pathlib.Path, default=ROOT.parent / "shared", help="folder that holds tinyflash/")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="where the files made from the model are kept")
    parser.add_argument("--terrace", type=pathlib.Path, default=ROOT / "build/release/terrace")
    parser.add_argument("--count", type=int, default=500, help="tokens of each text (at most 512, the budget)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    if not 2 <= args.count <= 512:
        parser.error("--count: from 2 to 512")
    llama_cpp.llama_log_set(only_errors, None)
    folder = args.assets / "tinyflash"
    model, terrace = folder / "model-bf16.gguf", Terrace(args.terrace, args.threads)
    good = golden(terrace, model, load_file(folder / "golden.safetensors"))
    texts = {path.stem.removeprefix("valid_"): terrace.tokenize(model, path.read_text())[: args.count]
             for path in sorted(folder.glob("valid_*.txt"))}
    worse = compare(terrace, model, quantised(model, args.cache, args.threads), texts, args.threads)
    print("\nTerrace is further from the bf16 logits than llama.cpp on:", ", ".join(worse) or "none")
    sys.exit(0 if good and not worse else 1)


if __name__ == "__main__":
    main()
