#!/usr/bin/env python3
"""How far Terrace's logits are from llama.cpp's on one model, teacher-forced along the same tokens.

    pip install llama-cpp-python==0.3.36 numpy safetensors
    bench/agreement.py models/SmolLM2-135M-Instruct.Q4_1.gguf --text FILE

1. Along llama.cpp's own greedy text of five prompts (64 tokens each), every position where the two argmaxes differ is listed with
   llama.cpp's gap between its two best tokens.
2. Over the first 1,000 tokens of FILE: the mean KL divergence between llama.cpp, Terrace, and Terrace's reference profile (float
   activations), which shows how much of the distance is llama.cpp's own rounding of activations.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import llama_cpp
import numpy as np
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROMPTS = ["The capital of France is", "Once upon a time, in a village by the sea,", "def fibonacci(n):\n",
           "Water boils at 100 degrees because", "The three most important inventions of the last century are"]


class LlamaCpp:
    def __init__(self, path):
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.use_extra_bufts = False
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.size = llama_cpp.llama_vocab_n_tokens(self.vocab)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch = 2048, 1024
        self.context = llama_cpp.llama_init_from_model(self.model, params)

    def tokenize(self, text):
        data = text.encode()
        tokens = (llama_cpp.llama_token * (len(data) + 8))()
        return list(tokens[: llama_cpp.llama_tokenize(self.vocab, data, len(data), tokens, len(tokens), False, False)])

    def logits(self, tokens):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
            batch.seq_id[i][0] = 0
        assert llama_cpp.llama_decode(self.context, batch) == 0
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits(self.context), (len(tokens), self.size)).copy()

    def greedy(self, tokens, count):
        tokens = list(tokens)
        for _ in range(count):
            tokens.append(int(self.logits(tokens)[-1].argmax()))
        return tokens


def terrace_logits(terrace, model, tokens, numeric="standard"):
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "tokens.json"), pathlib.Path(folder, "out.safetensors")
        source.write_text(json.dumps(tokens))
        subprocess.run([terrace, "logits", model, "--tokens", source, "--out", target, "--numeric", numeric], check=True)
        return load_file(target)["logits"]


def log_softmax(x):
    x = x.astype(np.float64) - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def kl(p, q):
    p, q = log_softmax(p), log_softmax(q)
    return (np.exp(p) * (p - q)).sum(1).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--terrace", type=pathlib.Path, default=ROOT / "build/release/terrace")
    args = parser.parse_args()
    peer = LlamaCpp(args.model)
    differences = positions = 0
    for prompt in PROMPTS:
        start = peer.tokenize(prompt)
        tokens = peer.greedy(start, 64)
        theirs, ours = peer.logits(tokens), terrace_logits(args.terrace, args.model, tokens)
        for i in range(len(start) - 1, len(tokens) - 1):
            positions += 1
            if theirs[i].argmax() != ours[i].argmax():
                differences += 1
                best = np.sort(theirs[i])[-2:]
                print(f"  argmax differs: {prompt!r} position {i}, llama.cpp's gap {best[1] - best[0]:.4f}")
    print(f"greedy agreement: {positions - differences} of {positions}")
    tokens = peer.tokenize(args.text.read_text()[:20000])[:1000]
    theirs = peer.logits(tokens)
    ours, reference = (terrace_logits(args.terrace, args.model, tokens, n) for n in ("standard", "reference"))
    print(f"mean KL over {len(tokens)} tokens: llama.cpp || Terrace {kl(theirs, ours):.5f}, reference || Terrace {kl(reference, ours):.5f},"
          f" reference || llama.cpp {kl(reference, theirs):.5f}")


if __name__ == "__main__":
    main()
