#!/usr/bin/env python3
"""Terrace beside llama.cpp (and ik_llama.cpp's llama-bench) on the same files, alternating in one run.

    pip install llama-cpp-python==0.3.36          # built from source for this machine
    bench/peers.py models/SmolLM2-135M-Instruct.Q4_1.gguf --rounds 5 [--ik /path/to/llama-bench]

Models of random weights in the shape of released ones come from `terrace synth` (`--layers 8 --vocabulary 49152` keeps them small).

Each round runs every program once, one after the other, never two at a time: the figure that counts is the median over the rounds of
Terrace's speed divided by the peer's speed of the same round. Where ik_llama.cpp is not given, a multiple of llama.cpp measured
elsewhere stands in for it (STAND_IN below) and is named as such.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# ik_llama.cpp's speed as a multiple of llama.cpp's: prompt, decode. Measured on two Zen 5 cores.
STAND_IN = {"SmolLM2": (5.1, 1.9), "llama-1b": (1.84, 1.49), "qwen3-30b-a3b": (1.86, 1.41)}


def llama_cpp_child(path, prompt, decode, threads):
    """Prints llama.cpp's best prompt and decode speed of two passes (the first warms caches)."""
    import llama_cpp
    import random

    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = prompt + decode + 16, max(prompt, 1), 512
    params.n_threads = params.n_threads_batch = threads
    context = llama_cpp.llama_init_from_model(model, params)
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model)) or 1000
    numbers = random.Random(1)

    def step(count):
        tokens = (llama_cpp.llama_token * count)(*[numbers.randrange(100, size - 100) for _ in range(count)])
        assert llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(tokens, count)) == 0

    best = [0.0, 0.0]
    for _ in range(2):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        start = time.perf_counter()
        step(prompt)
        middle = time.perf_counter()
        for _ in range(decode):
            step(1)
        end = time.perf_counter()
        best = [max(best[0], prompt / (middle - start)), max(best[1], decode / (end - middle))]
    print(json.dumps(best))


def run_llama_cpp(path, args):
    command = [sys.executable, __file__, "--child", path, "-p", str(args.p), "-n", str(args.n), "--threads", str(args.threads)]
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"llama.cpp failed on {path} (exit code {out.returncode}); if it crashes with AMX, build it without:\n{out.stderr[-400:]}")
    return json.loads(out.stdout.strip().splitlines()[-1])


def run_terrace(path, args):
    command = [str(args.terrace), "bench", path, "-p", str(args.p), "-n", str(args.n), "--threads", str(args.threads), "-r", "2", "--json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [row["max"] for row in rows], [row["limit_share"] for row in rows]


def run_ik(path, args):
    command = [str(args.ik), "-m", path, "-p", str(args.p), "-n", str(args.n), "-t", str(args.threads), "-r", "2", "-o", "json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [next(r["avg_ts"] for r in rows if r["n_prompt"] == args.p and r["n_gen"] == 0),
            next(r["avg_ts"] for r in rows if r["n_gen"] == args.n and r["n_prompt"] == 0)]


def compare(path, args):
    rounds = []
    for index in range(args.rounds):
        speeds, shares = run_terrace(path, args)
        row = {"terrace": speeds, "share": shares, "llama.cpp": run_llama_cpp(path, args)}
        if args.ik:
            row["ik_llama.cpp"] = run_ik(path, args)
        rounds.append(row)
        print(f"  round {index + 1}: " + ", ".join(f"{k} {v[0]:.2f} / {v[1]:.2f}" for k, v in row.items()), flush=True)
    stand_in = next((v for k, v in STAND_IN.items() if k in path), None)
    print(f"{pathlib.Path(path).name}: {args.p}-token prompt / {args.n}-token decode, {args.threads} threads, {args.rounds} rounds")
    for test, name in enumerate(("prompt", "decode")):
        share = [row["share"][test] for row in rounds]
        print(f"  {name}: Terrace {statistics.median(r['terrace'][test] for r in rounds):.1f} t/s,"
              f" {100 * statistics.median(share):.0f} % of the limit ({100 * min(share):.0f} to {100 * max(share):.0f})")
        for peer in ("llama.cpp", "ik_llama.cpp"):
            if peer in rounds[0]:
                ratios = [row["terrace"][test] / row[peer][test] for row in rounds]
                print(f"    / {peer}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        if not args.ik and stand_in:
            ratios = [row["terrace"][test] / row["llama.cpp"][test] / stand_in[test] for row in rounds]
            print(f"    / {stand_in[test]} x llama.cpp (stand-in for ik_llama.cpp): {statistics.median(ratios):.2f}"
                  f" ({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("-p", type=int, default=512)
    parser.add_argument("-n", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ik", type=pathlib.Path, help="ik_llama.cpp's llama-bench")
    parser.add_argument("--terrace", type=pathlib.Path, default=ROOT / "build/release/terrace")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for path in args.models:
        if args.child:
            llama_cpp_child(path, args.p, args.n, args.threads)
        else:
            compare(path, args)


if __name__ == "__main__":
    main()
