#!/usr/bin/env python3
"""What quantisation costs: the same mixes made by Terrace and by llama.cpp, judged by `terrace quality`.

    pip install llama-cpp-python==0.3.36 gguf numpy matplotlib
    bench/quality.py --cache FOLDER [--assets ../shared] [--plot docs/quality.svg]
    bench/quality.py --cache FOLDER --own [--model FILE --text KIND=FILE ...]

ASSETS/tinyflash holds model-bf16.gguf and the held-out texts valid_*.txt. Both programs quantise the same file (the model without its
multi-token-prediction block, which llama.cpp does not know) to each mix, without and with the same importance matrix, which
`terrace imatrix` collects on the texts behind the part they are judged on. Terrace then computes how far the predictions on the first
tokens of each text are from those of the bf16 file, in the reference profile, so that only the weights make a difference.

Prints two tables and draws divergence against size. With --own, it instead compares Terrace's own types with public types of about the same size, all made by Terrace, on that file or on
--model FILE (whose own weights, decoded, are the reference) with --text KIND=FILE. The exit code is 1 if a file of Terrace's is worse
over all texts than llama.cpp's of the same mix.
"""
import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys

import gguf
import llama_cpp
import numpy as np

from tinyflash import made, only_errors, without_head

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIXES = {"Q8_0": 7, "Q6_K": 18, "Q5_K_M": 17, "Q4_K_M": 15, "Q3_K_M": 12, "Q2_K": 10}
OWN = ["Q4SG128", "NF4C", "IQ4_XS", "Q4_0", "Q4_K_S", "Q8G128", "Q8_0"]
KINDS = ["code", "prose", "chat", "all"]
JUDGED_BYTES = 6000  # more than the first 500 tokens of a text


class ImatrixEntry(ctypes.Structure):
    """llama_model_imatrix_data"""
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)), ("size", ctypes.c_size_t)]


def load_importance(path):
    """The mean squares of an importance matrix as llama_model_quantize takes them; keep the second value alive meanwhile."""
    tensors = {tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors}
    arrays = []
    for name, sums in tensors.items():
        if name.endswith(".in_sum2"):
            base = name.removesuffix(".in_sum2")
            counts = tensors[base + ".counts"].reshape(-1, 1)
            sums = sums.reshape(len(counts), -1)
            arrays.append((base.encode(), np.where(counts > 0, sums / np.maximum(counts, 1), 1).astype(np.float32).reshape(-1)))
    entries = (ImatrixEntry * (len(arrays) + 1))()
    for entry, (name, values) in zip(entries, arrays):
        entry.name, entry.size = name, len(values)
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    return entries, arrays


def quantised_by_llama_cpp(source, target, file_type, importance, threads):
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.nthread = file_type, threads
    if importance:
        entries, _arrays = load_importance(importance)
        params.imatrix = ctypes.cast(entries, type(params.imatrix))
    with made(target) as part:
        if llama_cpp.llama_model_quantize(str(source).encode(), str(part).encode(), ctypes.byref(params)) != 0:
            sys.exit(f"llama.cpp could not make {target}")


def prepare(args, folder):
    """The files that both programs start from: the model, and the importance matrix."""
    args.cache.mkdir(parents=True, exist_ok=True)
    trunk, importance = args.cache / "trunk-bf16.gguf", args.cache / "imatrix.gguf"
    if not trunk.exists():
        with made(trunk) as part:
            without_head(folder / "model-bf16.gguf", part)
    if not importance.exists():
        command = [args.terrace, "imatrix", trunk, "--out", importance]
        for text in sorted(folder.glob("valid_*.txt")):
            rest = args.cache / f"rest_{text.name}"
            rest.write_bytes(text.read_bytes()[JUDGED_BYTES:])
            command += ["--text", rest]
        subprocess.run(command, check=True)
    return trunk, importance


def files_of(args, trunk, importance):
    """Yields (mix, with importance, maker, path)."""
    for mix, file_type in MIXES.items():
        for known in (None, importance):
            suffix = f"{mix}{'-imatrix' if known else ''}.gguf"
            theirs, ours = args.cache / f"llama-cpp-{suffix}", args.cache / f"terrace-{suffix}"
            if not theirs.exists():
                quantised_by_llama_cpp(trunk, theirs, file_type, known, args.threads)
            # Terrace's own is what is being judged, so it is never an old one.
            subprocess.run([args.terrace, "quantize", trunk, ours, "--type", mix, *(["--imatrix", known] if known else [])], check=True,
                           stdout=subprocess.DEVNULL)
            yield mix, bool(known), "llama.cpp", theirs
            yield mix, bool(known), "Terrace", ours


def judged(args, trunk, path, texts):
    report = args.cache / "report.json"
    command = [args.terrace, "quality", path, "--reference-model", trunk, "--numeric", "reference", "--tokens", args.count, "--json", report]
    for kind, text in texts.items():
        command += ["--text", f"{kind}={text}"]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    found = json.loads(report.read_text())
    if found["noise"] != 0:
        sys.exit(f"{path}: the noise check gave {found['noise']}")
    return {text["kind"]: text for text in found["texts"]}


def table(rows, title, figure):
    """A row per file, with a figure of each text and of all."""
    lines = ["| mix | imatrix | made by | MB | " + " | ".join(f"{title} {kind}" for kind in KINDS) + " |",
             "| --- | --- | --- | ---: |" + " ---: |" * len(KINDS)]
    for mix, known, maker, size, texts in rows:
        figures = " | ".join(figure(texts[kind]) for kind in KINDS)
        lines.append(f"| {mix} | {'yes' if known else 'no'} | {maker} | {size / 1e6:.1f} | {figures} |")
    return "\n".join(lines) + "\n"


def own_types(args, source, texts):
    """A table of Terrace's own types beside public ones of about the same size."""
    print("| type | bits per weight | KL | KL, top 64 | same best | perplexity | reference's |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for mix in OWN:
        target = args.cache / f"own-{mix}.gguf"
        done = subprocess.run([args.terrace, "quantize", source, target, "--type", mix], check=True, stdout=subprocess.PIPE, text=True)
        bits = done.stdout.split(" bits per weight")[0].split()[-1]
        found = list(judged(args, source, target, texts).values())[-1]
        print(f"| {mix} | {bits} | {found['kl']['mean']:.5f} | {found['kl_top64']['mean']:.5f} | {found['same_best']:.1%} | "
              f"{found['perplexity']:.3f} | {found['reference_perplexity']:.3f} |", flush=True)


def plot(rows, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "terrace"
    from matplotlib import pyplot
    figure, (axes, below) = pyplot.subplots(2, 1, figsize=(8, 6), sharex=True, height_ratios=(3, 1))
    kl = {(mix, known, maker): texts["all"]["kl"]["mean"] for mix, known, maker, _, texts in rows}
    sizes = {(mix, known, maker): size / 1e6 for mix, known, maker, size, _ in rows}
    for known, style in ((False, "--"), (True, "-")):
        suffix = ", imatrix" if known else ""
        for maker, color in (("llama.cpp", "#8a6d3b"), ("Terrace", "#2f7d6b")):
            axes.plot([sizes[mix, known, maker] for mix in MIXES], [kl[mix, known, maker] for mix in MIXES], style, color=color, marker="o",
                      markersize=4, label=maker + suffix)
        below.plot([sizes[mix, known, "Terrace"] for mix in MIXES], [kl[mix, known, "Terrace"] / kl[mix, known, "llama.cpp"] for mix in MIXES],
                   style, color="#2f7d6b", marker="o", markersize=4)
    for mix in MIXES:
        axes.annotate(mix, (sizes[mix, True, "Terrace"], kl[mix, True, "Terrace"]), textcoords="offset points", xytext=(-4, -12), ha="right",
                      fontsize=8)
    axes.set_yscale("log")
    axes.margins(0.08)
    axes.set_ylabel("KL(bf16 || file), nats")
    below.axhline(1, color="#8a6d3b")
    below.set_ylim(bottom=0)
    below.set_ylabel("KL, Terrace /\nllama.cpp")
    below.set_xlabel("file, MB")
    for part in (axes, below):
        part.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=pathlib.Path, default=ROOT.parent / "shared", help="folder that holds tinyflash/")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="where the files made from the model go")
    parser.add_argument("--terrace", type=pathlib.Path, default=ROOT / "build/release/terrace")
    parser.add_argument("--plot", type=pathlib.Path, default=ROOT / "docs/quality.svg", help="where the drawing goes")
    parser.add_argument("--count", type=int, default=500, help="tokens of each text")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--own", action="store_true", help="compare Terrace's own types with public ones")
    parser.add_argument("--model", type=pathlib.Path, help="with --own: another model than tinyflash")
    parser.add_argument("--text", action="append", default=[], help="with --model: KIND=FILE")
    args = parser.parse_args()
    args.terrace = args.terrace.resolve()
    llama_cpp.llama_log_set(only_errors, None)
    folder = args.assets / "tinyflash"
    if args.model:
        source = args.cache / "decoded.gguf"
        subprocess.run([args.terrace, "quantize", args.model, source, "--type", "F32", "--pure", "--allow-requantize"], check=True)
        return own_types(args, source, dict(text.split("=", 1) for text in args.text))
    trunk, importance = prepare(args, folder)
    texts = {kind: folder / f"valid_{kind}.txt" for kind in KINDS[:-1]}
    if args.own:
        return own_types(args, trunk, texts)
    rows = []
    for mix, known, maker, path in files_of(args, trunk, importance):
        rows.append((mix, known, maker, path.stat().st_size, judged(args, trunk, path, texts)))
        print(f"{path.name}: {rows[-1][4]['all']['kl']['mean']:.5f}", file=sys.stderr, flush=True)
    print(table(rows, "KL", lambda text: f"{text['kl']['mean']:.5f}"))
    print(table(rows, "perplexity, same best", lambda text: f"{text['perplexity']:.2f}, {text['same_best']:.1%}"))
    plot(rows, args.plot)
    worse = [(ours[0], ours[1], kind) for theirs, ours in zip(rows[::2], rows[1::2]) for kind in KINDS
             if ours[4][kind]["kl"]["mean"] > theirs[4][kind]["kl"]["mean"]]
    for mix, known, kind in worse:
        print(f"Terrace's {mix}{' with importance' if known else ''} is further from bf16 than llama.cpp's on: {kind}")
    sys.exit(1 if any(kind == "all" for _, _, kind in worse) else 0)


if __name__ == "__main__":
    main()
