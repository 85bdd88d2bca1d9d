#!/usr/bin/env python3
"""Runs the built command as a user or a script would: exit codes, messages, files, output formats.

Usage: test_cli.py PATH_OF_TERRACE [unittest's arguments]
"""

import json
import math
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "data" / "fixtures"
MODEL = FIXTURES / "llama" / "model-f32.gguf"
TERRACE = ""  # set from the command line
SECONDS = 60  # a test that waits longer hangs


def terrace(*args, stdin=b"", **options):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return subprocess.run([TERRACE, *map(str, args)], input=stdin, capture_output=True, timeout=SECONDS, **options)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def ok(self, *args, **options):
        done = terrace(*args, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout

    def fails(self, *args, says=(), **options):
        """Exit code 1 and exactly one line on stderr, which contains each of `says`."""
        done = terrace(*args, **options)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, 1, message)
        self.assertEqual(len(message.splitlines()), 1, message)
        self.assertTrue(message.endswith("\n"), message)
        for text in says if isinstance(says, tuple) else (says,):
            self.assertIn(str(text), message)
        return done

    def answer(self, *args, model=MODEL, **options):
        return json.loads(self.ok("run", model, "--json", *args, **options))


class Usage(Case):
    def test_usage_errors_are_2(self):
        for args in ([], ["fly"], ["run", "--fly"], ["run", MODEL, "-n", "many"], ["logits", MODEL], ["logits", MODEL, "--threads", "0"],
                     ["bench", MODEL, "-r", "0"], ["template"], ["synth"], ["run", MODEL, "--kv", "f8"]):
            with self.subTest(args=args):
                done = terrace(*args)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(b"terrace --help", done.stderr)

    def test_help(self):
        text = self.ok("--help").decode()
        for command in ("run", "chat", "bench", "logits", "tokenize", "detokenize", "template", "inspect", "synth"):
            self.assertIn(command, text)
            self.assertTrue(self.ok(command, "--help"))

    def test_version_lists_instruction_sets(self):
        lines = self.ok("--version").decode().splitlines()
        self.assertRegex(lines[0], r"^terrace \d+\.\d+\.\d+$")
        sets = lines[-1].split(": ")[1].split(", ")
        self.assertIn("scalar", sets)
        self.assertLessEqual(set(sets), {"avx512vnni", "avx512", "avxvnni", "avx2", "scalar"})

    def test_no_prompt(self):
        self.fails("run", MODEL, says="-p")

    def test_two_prompts(self):
        self.fails("run", MODEL, "-p", "a", "-f", "-", says="both")

    def test_unknown_instruction_set(self):
        self.fails("run", MODEL, "-p", "a", "--isa", "mmx", says="mmx")


class BadFiles(Case):
    COMMANDS = (("run", "-p", "a"), ("inspect",), ("tokenize",), ("bench", "-p", "16", "-n", "0", "-r", "1"))

    def each(self, path, *says):
        for command in self.COMMANDS:
            with self.subTest(command=command[0]):
                self.fails(command[0], path, *command[1:], says=(path, *says))

    def test_missing(self):
        self.each(self.folder / "none.gguf")

    def test_folder(self):
        self.each(self.folder)

    def test_text(self):
        self.each(self.file("text.gguf", "This is a text, not a model. " * 100))

    def test_empty(self):
        self.each(self.file("empty.gguf", ""))

    def test_cut_short(self):
        whole = MODEL.read_bytes()
        for size in (5, 100, len(whole) // 2, len(whole) - 1):
            with self.subTest(size=size):
                path = self.file("cut.gguf", whole[:size])
                self.fails("run", path, "-p", "a", says=path)

    def test_unknown_architecture(self):
        whole = MODEL.read_bytes()
        path = self.file("lxama.gguf", whole.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0lxama", 1))
        self.fails("run", path, "-p", "a", says="lxama")
        self.ok("inspect", path)

    def test_prompt_file(self):
        self.fails("run", MODEL, "-f", self.folder / "none.txt", says="none.txt")

    def test_tokens_file(self):
        out = self.folder / "out.safetensors"
        for content in ("", "{}", "[]", "[1, -2]", "[1.5]", '["a"]', "[1, 2"):
            with self.subTest(content=content):
                self.fails("logits", MODEL, "--tokens", self.file("tokens.json", content), "--out", out, says="tokens.json")
        self.fails("logits", MODEL, "--tokens", self.file("tokens.json", "[1, 1024]"), "--out", out, says="1024")
        self.assertFalse(out.exists())


class FullDisk(Case):
    """A limit on the size of files does what a full disk does: a write that fails half way."""

    @staticmethod
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    def leaves_nothing(self, *args):
        before = set(self.folder.iterdir())
        self.fails(*args, says="out", preexec_fn=self.limit)
        self.assertEqual(set(self.folder.iterdir()), before)

    def test_logits(self):
        tokens = self.file("tokens.json", json.dumps(list(range(100))))
        self.leaves_nothing("logits", MODEL, "--tokens", tokens, "--out", self.folder / "out.safetensors")

    def test_synth(self):
        self.leaves_nothing("synth", "llama-1b", self.folder / "out.gguf", "--layers", "1")

    def test_folder_that_is_not_there(self):
        self.fails("synth", "llama-1b", self.folder / "none" / "out.gguf", "--layers", "1", says="none")

    def test_standard_output(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        for args in (["inspect", MODEL, "--json"], ["run", MODEL, "-p", "a", "-n", "4"]):
            with self.subTest(args=args[0]), open("/dev/full", "wb") as full:
                done = subprocess.run([TERRACE, *map(str, args)], stdout=full, stderr=subprocess.PIPE, timeout=SECONDS)
                self.assertEqual(done.returncode, 1, done.stderr)


class Text(Case):
    def fixtures(self):
        found = sorted(path.parent for path in FIXTURES.glob("*/tok.json"))
        self.assertTrue(found)
        return found

    def test_tokenize_and_back(self):
        text = "Hello, wörld! 日本語 👩‍💻\n\n  two  spaces\ttab 1234567 <|eot_id|> don't"
        for fixture in self.fixtures():
            model = fixture / "model-f32.gguf"
            if not model.exists():
                continue
            with self.subTest(fixture=fixture.name):
                ids = json.loads(self.ok("tokenize", model, "--no-special", stdin=text))
                self.assertTrue(all(isinstance(token, int) for token in ids))
                back = self.ok("detokenize", model, stdin=json.dumps(ids)).decode()
                # SentencePiece vocabularies put a space before the text.
                self.assertIn(back, (text, " " + text))

    def test_tokenize_as_the_reference(self):
        for case in json.loads((FIXTURES / "llama" / "tok.json").read_text())[:8]:
            with self.subTest(text=case["text"]):
                self.assertEqual(json.loads(self.ok("tokenize", MODEL, stdin=case["text"])), case["ids"])
                self.assertEqual(json.loads(self.ok("tokenize", MODEL, "--bos", stdin=case["text"])), case["ids_with_bos"])

    def test_detokenize_bad_input(self):
        for text in ("", "hello", "{}", "[1024]", "[-1]", "[1.5]", '["a"]', "[" * 100_000):
            with self.subTest(text=text[:10]):
                self.fails("detokenize", MODEL, stdin=text, says="standard input")

    def test_bytes_that_are_not_utf8(self):
        ids = self.ok("tokenize", MODEL, stdin=b"a\xff\xfe\x00b")
        self.assertEqual(self.ok("detokenize", MODEL, stdin=ids), b"a\xff\xfe\x00b")

    def test_template(self):
        for case in json.loads((FIXTURES / "llama" / "chat.json").read_text())[:4]:
            if "rendered" not in case:
                continue
            flags = [] if case["add_generation_prompt"] else ["--no-generation-prompt"]
            rendered = self.ok("template", MODEL, "--messages", "-", *flags, stdin=json.dumps(case["messages"]))
            self.assertEqual(rendered.decode(), case["rendered"])

    def test_template_that_raises(self):
        self.fails("template", MODEL, "--messages", "-", stdin="[]", says="a conversation needs a message")
        refuses = self.file("refuses.jinja", "{% if messages[0].role != 'user' %}{{ raise_exception('begin with\na user') }}{% endif %}")
        self.fails("template", "--template", refuses, "--messages", "-", stdin='[{"role": "tool", "content": "a"}]', says="begin with")

    def test_template_bad_input(self):
        for text in ("", "hello", "{}", "[" * 100_000):
            with self.subTest(text=text[:10]):
                self.fails("template", MODEL, "--messages", "-", stdin=text)
        self.fails("template", MODEL, "--messages", "-", "-D", "name", stdin="[]", says="NAME=JSON")


class Inspect(Case):
    def test_json(self):
        found = json.loads(self.ok("inspect", MODEL, "--json"))
        self.assertEqual(found["metadata"]["general.architecture"], "llama")
        self.assertEqual(found["metadata"]["llama.block_count"], 5)
        self.assertEqual(len(found["metadata"]["tokenizer.ggml.tokens"]), 1024)
        self.assertEqual(found["file_bytes"], MODEL.stat().st_size)
        self.assertEqual(found["parameters"], 550944)
        self.assertEqual(found["types"]["F32"]["tensors"], len(found["tensors"]))
        self.assertEqual({"name", "type", "shape", "bytes"}, set(found["tensors"][0]))

    def test_text(self):
        text = self.ok("inspect", MODEL, "--tensors", "--memory").decode()
        for part in ("general.architecture", "blk.0.attn_q.weight", "memory once loaded", "bytes per token"):
            self.assertIn(part, text)

    def test_every_fixture_that_is_a_model(self):
        for model in sorted(FIXTURES.glob("*/model-f32.gguf")):
            with self.subTest(model=model.parent.name):
                self.assertIn("metadata", json.loads(self.ok("inspect", model, "--json")))


class Run(Case):
    def test_json_fields(self):
        answer = self.answer("-p", "Hello", "-n", "8", "--temp", "0", "--ignore-eos")
        self.assertEqual(set(answer), {"text", "finish_reason", "prompt_tokens", "tokens", "prompt_tokens_per_second", "tokens_per_second"})
        self.assertEqual(answer["finish_reason"], "length")
        self.assertEqual(len(answer["tokens"]), 8)
        self.assertEqual(answer["prompt_tokens"], len(json.loads(self.ok("tokenize", MODEL, "--bos", stdin="Hello"))))
        self.assertGreater(answer["prompt_tokens_per_second"], 0)
        self.assertGreater(answer["tokens_per_second"], 0)

    def test_context_full(self):
        done = self.fails("run", MODEL, "-p", "Hello", "--json", "--ctx", "16", "--temp", "0", "--ignore-eos", says="16")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["finish_reason"], "context")
        # The last token is sampled but needs no position of its own.
        self.assertIn(answer["prompt_tokens"] + len(answer["tokens"]), (16, 17))

    def test_stop_string(self):
        whole = self.answer("-p", "Hello", "-n", "32", "--temp", "0", "--ignore-eos")["text"]
        stop = whole[8:10]
        answer = self.answer("-p", "Hello", "-n", "32", "--temp", "0", "--ignore-eos", "--stop", stop)
        self.assertEqual(answer["finish_reason"], "stop")
        self.assertEqual(answer["text"], whole[: whole.index(stop)])

    def test_prompt_longer_than_the_context(self):
        self.fails("run", MODEL, "-p", "word " * 100, "--ctx", "32", says="32")

    def test_same_seed_same_text(self):
        args = ("-p", "Hello", "-n", "24", "--temp", "1.5", "--ignore-eos")
        first = self.answer(*args, "--seed", "7")["tokens"]
        self.assertEqual(first, self.answer(*args, "--seed", "7")["tokens"])
        self.assertEqual(first, self.answer(*args, "--seed", "7", "--threads", "1", "--isa", "scalar")["tokens"])
        self.assertNotEqual(first, self.answer(*args, "--seed", "8")["tokens"])

    def test_prompt_from_standard_input_and_file(self):
        args = ("-n", "8", "--temp", "0")
        expected = self.ok("run", MODEL, "-p", "Hello there", *args)
        self.assertTrue(expected.endswith(b"\n"))
        self.assertEqual(self.ok("run", MODEL, "-", *args, stdin="Hello there"), expected)
        self.assertEqual(self.ok("run", MODEL, "-f", "-", *args, stdin="Hello there"), expected)
        self.assertEqual(self.ok("run", MODEL, "-f", self.file("prompt.txt", "Hello there"), *args), expected)

    def test_text_is_the_json_text(self):
        args = ("-p", "Hello", "-n", "12", "--temp", "0")
        text = self.ok("run", MODEL, *args).decode(errors="replace")
        self.assertEqual(text, self.answer(*args)["text"] + "\n")

    def test_chat(self):
        plain, chat = self.answer("-p", "Hi", "-n", "1"), self.answer("-p", "Hi", "-n", "1", "--chat")
        self.assertGreater(chat["prompt_tokens"], plain["prompt_tokens"])
        self.assertGreater(self.answer("-p", "Hi", "-n", "1", "--system", "Be brief")["prompt_tokens"], chat["prompt_tokens"])

    def test_interrupt_is_130(self):
        # Generation alone lasts seconds: a long context, and a slow instruction set on one thread.
        command = [TERRACE, "run", MODEL, "-p", "Hello", "-n", "100000", "--ctx", "100000", "--ignore-eos", "--threads", "1", "--isa", "scalar"]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertTrue(process.stdout.read(1))  # it generates
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 130)

    def test_reader_that_leaves(self):
        process = subprocess.Popen([TERRACE, "run", str(MODEL), "-p", "a", "-n", "100000", "--ctx", "100000", "--ignore-eos"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.stdout.read(1)
            process.stdout.close()
            code = process.wait(timeout=SECONDS)
        finally:
            process.kill()
            process.stderr.close()
        self.assertIn(code, (1, -signal.SIGPIPE))


class Convert(Case):
    CHECKPOINT = FIXTURES / "llama-rope3" / "hf"

    def large_checkpoint(self):
        """Zeros that take no place: a matrix of 2 GB."""
        folder = self.folder / "large"
        shutil.copytree(self.CHECKPOINT, folder)
        config = json.loads((folder / "config.json").read_text())
        config["num_hidden_layers"] = 1
        config["intermediate_size"] = width = 1 << 23
        (folder / "config.json").write_text(json.dumps(config))
        hidden, heads = config["hidden_size"], config["num_attention_heads"] * config["head_dim"]
        keys = config["num_key_value_heads"] * config["head_dim"]
        layer = {"self_attn.q_proj": [heads, hidden], "self_attn.k_proj": [keys, hidden], "self_attn.v_proj": [keys, hidden],
                 "self_attn.o_proj": [hidden, heads], "mlp.gate_proj": [width, hidden], "mlp.up_proj": [width, hidden],
                 "mlp.down_proj": [hidden, width], "input_layernorm": [hidden], "post_attention_layernorm": [hidden]}
        tensors = {"model.embed_tokens.weight": [config["vocab_size"], hidden], "model.norm.weight": [hidden]}
        tensors.update({f"model.layers.0.{name}.weight": shape for name, shape in layer.items()})
        header, offset = {}, 0
        for name, shape in tensors.items():
            size = 4 * math.prod(shape)
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header).encode()
        with open(folder / "model.safetensors", "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + offset)
        return folder

    def test_a_checkpoint_becomes_a_model(self):
        out = self.folder / "model.gguf"
        done = terrace("convert", self.CHECKPOINT, out)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertRegex(done.stderr.decode(), r"^[^\n]*model.gguf: llama, 39 tensors, [^\n]*\n$")
        self.assertEqual(json.loads(self.ok("run", out, "-p", "a", "-n", "2", "--ignore-eos", "--json"))["finish_reason"], "length")

    def test_errors(self):
        self.fails("convert", self.folder, self.folder / "out.gguf", says="config.json")
        self.fails("convert", self.CHECKPOINT, self.folder / "out.gguf", "--type", "Q9_9", says="'Q9_9'")
        self.fails("convert", self.CHECKPOINT, self.folder, says="is a folder")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_full_disk_leaves_nothing(self):
        self.fails("convert", self.CHECKPOINT, self.folder / "out.gguf", preexec_fn=FullDisk.limit, says="cannot write")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_stopped_it_keeps_its_part_and_nobody_else_writes_it(self):
        checkpoint = self.large_checkpoint()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            out = self.folder / f"out{signal_number}.gguf"
            part = pathlib.Path(f"{out}.part")
            process = subprocess.Popen([TERRACE, "convert", checkpoint, out], stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            deadline = time.monotonic() + SECONDS
            while not part.exists() or part.stat().st_size < 1 << 24:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.fails("convert", checkpoint, out, says="another process is writing it")
            process.send_signal(signal_number)
            _, message = process.communicate(timeout=SECONDS)
            self.assertEqual(process.returncode, 130)
            self.assertIn(b"the same command continues it", message)
            self.assertTrue(pathlib.Path(f"{part}.json").exists())
            self.assertFalse(out.exists())


class Quantize(Case):
    def test_a_smaller_model_that_runs(self):
        out = self.folder / "q8.gguf"
        text = self.ok("quantize", MODEL, out, "--type", "Q8_0").decode()
        self.assertIn("bits per weight", text)
        self.assertLess(out.stat().st_size, MODEL.stat().st_size / 2)
        self.answer("-p", "a", "-n", 4, model=out)
        again = self.ok("quantize", MODEL, self.folder / "again.gguf", "--type", "q8_0", "--threads", 1)
        self.assertIn(b"wrote", again)
        self.assertEqual(out.read_bytes(), (self.folder / "again.gguf").read_bytes())

    def test_own_types_run_and_say_so(self):
        out = self.folder / "own.gguf"
        self.ok("quantize", FIXTURES / "lfm2" / "model-f32.gguf", out, "--type", "Q8G128", "--tensor-type", "ffn_up=Q4SG128")
        self.assertTrue(b"Terrace's own" in out.read_bytes())
        self.answer("-p", "a", "-n", 4, model=out)

    def test_dry_run_writes_nothing(self):
        out = self.folder / "x.gguf"
        text = self.ok("quantize", MODEL, out, "--type", "Q4_K_M", "--tensor-type", "attn_v=F16", "--dry-run").decode()
        self.assertRegex(text, r"blk\.0\.attn_v\.weight +F32 +F16")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_refusals(self):
        out = self.folder / "x.gguf"
        self.fails("quantize", MODEL, out, "--type", "Q4", says="the type 'Q4' is unknown")
        self.fails("quantize", MODEL, out, "--type", "Q8_0", "--tensor-type", "attn_v", says="'attn_v' has no '='")
        self.fails("quantize", self.folder / "none.gguf", out, "--type", "Q8_0", says="none.gguf")
        self.fails("quantize", MODEL, out, "--type", "Q8_0", "--imatrix", MODEL, says="is no importance matrix")
        self.fails("quantize", MODEL, MODEL, "--type", "Q8_0", says="is the input")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_full_disk_leaves_nothing(self):
        out = self.folder / "x.gguf"
        self.fails("quantize", MODEL, out, "--type", "F32", says="x.gguf", preexec_fn=FullDisk.limit)
        self.assertEqual(list(self.folder.iterdir()), [])


class Judge(Case):
    def setUp(self):
        super().setUp()
        self.text = self.file("prose.txt", "A glacier is a body of ice that moves under its own weight. " * 40)

    def test_a_model_against_itself_is_exactly_nothing(self):
        page, figures = self.folder / "page.html", self.folder / "figures.json"
        self.ok("quality", MODEL, "--reference-model", MODEL, "--text", self.text, "--text", f"again={self.text}", "--tokens", 120, "--page",
                page, "--json", figures)
        report = json.loads(figures.read_text())
        self.assertEqual([text["kind"] for text in report["texts"]], ["prose", "again", "all"])
        self.assertEqual({text["kl"]["largest"] for text in report["texts"]}, {0})
        self.assertEqual(report["noise"], 0)
        self.assertIn("<svg", page.read_text())

    def test_a_quantised_model_is_not(self):
        out, figures = self.folder / "q4.gguf", self.folder / "figures.json"
        self.ok("imatrix", MODEL, "--text", self.text, "--out", self.folder / "i.gguf", "--chunk", 64)
        self.ok("quantize", MODEL, out, "--type", "Q4_0", "--imatrix", self.folder / "i.gguf")
        self.ok("quality", MODEL, "--save-reference", self.folder / "r", "--text", self.text, "--tokens", 100)
        self.ok("quality", out, "--reference", self.folder / "r", "--json", figures)
        kept = json.loads(figures.read_text())["texts"][0]
        self.ok("quality", out, "--reference-model", MODEL, "--text", self.text, "--tokens", 100, "--json", figures)
        whole = json.loads(figures.read_text())["texts"][0]
        self.assertGreater(whole["kl"]["mean"], 0)
        self.assertIsNone(kept["kl"])
        self.assertAlmostEqual(kept["kl_top64"]["mean"], whole["kl_top64"]["mean"], places=5)

    def test_perplexity(self):
        self.assertRegex(self.ok("perplexity", MODEL, "--text", self.text, "--window", 64).decode(), r"^prose: perplexity \d+\.\d+ \+- ")
        self.fails("perplexity", MODEL, "--text", self.text, "--window", 100000, says="fewer than one window")

    def test_refusals(self):
        self.fails("quality", MODEL, "--text", self.text, says="say one of --reference-model")
        self.fails("quality", MODEL, "--reference-model", MODEL, says="name the texts")
        self.fails("quality", MODEL, "--reference-model", MODEL, "--text", self.text, "--text", self.text, says="two texts are called 'prose'")
        self.fails("quality", MODEL, "--reference", MODEL, says="model-f32.gguf")
        self.fails("imatrix", MODEL, "--text", self.file("empty.txt", ""), "--out", self.folder / "i.gguf", says="at least 2")


class Logits(Case):
    def logits(self, *args):
        tokens = self.file("tokens.json", json.dumps(list(range(40))))
        out = self.folder / "out.safetensors"
        self.ok("logits", MODEL, "--tokens", tokens, "--out", out, *args)
        return out.read_bytes()

    def test_same_bits_however_computed(self):
        expected = self.logits()
        for args in (["--isa", "scalar"], ["--threads", "1"], ["--chunk", "1"], ["--chunk", "7", "--threads", "2"]):
            with self.subTest(args=args):
                self.assertEqual(self.logits(*args), expected)

    def test_arrays(self):
        content = self.logits("--step-from", "32")
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        self.assertEqual(header["logits"]["shape"], [40, 1024])
        self.assertEqual(header["logits_step"]["shape"], [8, 1024])
        begin, end = header["logits"]["data_offsets"]
        step_begin, step_end = header["logits_step"]["data_offsets"]
        data = content[8 + size :]
        self.assertEqual(data[begin:end][32 * 4096 :], data[step_begin:step_end])


    def test_drafts_and_internals(self):
        model = FIXTURES / "qwen4exp-mtp" / "model-f32.gguf"
        tokens = self.file("tokens.json", json.dumps(list(range(40))))
        out = self.folder / "out.safetensors"
        self.ok("logits", model, "--tokens", tokens, "--out", out, "--mtp", "--internals", "--chunk", "16")
        content = out.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        shapes = {name: array["shape"] for name, array in header.items() if name != "__metadata__"}
        self.assertEqual(shapes["mtp_logits"], [40, 1024])
        self.assertEqual(shapes["mtp_tokens"], [40])
        self.assertEqual(shapes["experts"], [8, 40, 4])
        self.assertEqual(shapes["expert_weights"], [8, 40, 4])
        self.assertEqual(shapes["qsa_selected"], [2, 40, 40])
        self.fails("logits", MODEL, "--tokens", tokens, "--out", out, "--mtp", says="no multi-token-prediction head")


class Bench(Case):
    def test_json(self):
        rows = json.loads(self.ok("bench", MODEL, "--json", "-p", "16", "-n", "4", "-r", "1"))
        self.assertEqual([row["test"] for row in rows], ["pp16", "tg4"])
        for row in rows:
            self.assertLessEqual({"model", "test", "depth", "threads", "isa", "tokens_per_second", "min", "max", "limit_share"}, set(row))
            self.assertEqual(row["model"], MODEL.name)
            self.assertEqual(row["depth"], 0)
            self.assertGreater(row["limit_share"], 0)
            self.assertLessEqual(row["min"], row["tokens_per_second"])
            self.assertLessEqual(row["tokens_per_second"], row["max"])

    def test_lists(self):
        rows = json.loads(self.ok("bench", MODEL, "--json", "-p", "8,16", "-n", "0", "-r", "1", "--depth", "0,4", "--threads", "1", "--isa", "scalar"))
        self.assertEqual([(row["test"], row["depth"]) for row in rows], [("pp8", 0), ("pp16", 0), ("pp8", 4), ("pp16", 4)])
        self.assertEqual({(row["threads"], row["isa"]) for row in rows}, {(1, "scalar")})


    def test_bytes_per_token_are_those_that_inspect_tells(self):
        for name, rows in (("llama", 96 * 4), ("qwen35moe", 64 * 4), ("lfm2moe", 0), ("qwen4exp-mtp", 64 * 4 + 8 * 4)):
            with self.subTest(model=name):
                model = FIXTURES / name / "model-f32.gguf"
                parts = json.loads(self.ok("bench", model, "--json", "-p", "4", "-n", "0", "-r", "1"))[0]["token_bytes"]
                told = json.loads(self.ok("inspect", model, "--json"))["bytes_per_token"]
                self.assertEqual(parts["dense"] + parts["experts"] + parts["head"] + rows, told)


class Synth(Case):
    def test_a_model_that_runs(self):
        model = self.folder / "small.gguf"
        self.ok("synth", "lfm2-8b-a1b", model, "--layers", "1", "--vocabulary", "512")
        tokens = self.file("tokens.json", json.dumps(list(range(40))))
        self.ok("logits", model, "--tokens", tokens, "--out", self.folder / "logits.safetensors")

    def test_unknown(self):
        self.fails("synth", "llama-9b", self.folder / "out.gguf", says="llama-9b")
        self.fails("synth", "llama-1b", self.folder / "out.gguf", "--type", "Q9_9", says="Q9_9")
        self.assertEqual(list(self.folder.iterdir()), [])


class Chat(Case):
    ARGS = ("chat", MODEL, "-n", "8", "--temp", "0")

    def chat(self, *lines, args=()):
        return self.ok(*self.ARGS, *args, stdin="".join(line + "\n" for line in lines)).decode(errors="replace")

    def test_help_and_quit(self):
        text = self.chat("/help", "/quit", "/fly")
        for command in ("/reset", "/system", "/save", "/load", "/quit"):
            self.assertIn(command, text)
        self.assertNotIn("unknown", text)

    def test_end_of_input(self):
        self.assertEqual(self.chat(), "")

    def test_save_and_load(self):
        saved = self.folder / "saved.json"
        self.chat("Hello", f"/save {saved}", "/quit", args=["--system", "Be brief"])
        messages = json.loads(saved.read_text())
        self.assertEqual([message["role"] for message in messages], ["system", "user", "assistant"])
        self.assertEqual(messages[1]["content"], "Hello")
        again = self.folder / "again.json"
        text = self.chat(f"/load {saved}", "And then?", f"/save {again}")
        self.assertIn("3 messages loaded", text)
        self.assertEqual(json.loads(again.read_text())[:3], messages)
        self.assertEqual(len(json.loads(again.read_text())), 5)

    def test_answer_does_not_depend_on_what_is_kept(self):
        first, second = self.folder / "first.json", self.folder / "second.json"
        self.chat("Hello", "Go on", f"/save {first}")
        self.chat("Something else", "/reset", "Hello", "Go on", f"/save {second}")
        self.assertEqual(first.read_text(), second.read_text())

    def test_mistakes_do_not_end_the_chat(self):
        text = self.chat("/fly", "/save", "/load", f"/load {self.folder}/none.json", f"/load {self.file('bad.json', '[1]')}", "/help")
        self.assertIn("/fly is unknown", text)
        self.assertIn("none.json", text)
        self.assertIn("bad.json", text)
        self.assertIn("/reset", text)

    def test_loaded_messages_of_wrong_types(self):
        for content in ("[" * 100_000, '[{"role": 1, "content": {"a": []}}]', '{"role": "user"}'):
            with self.subTest(content=content[:20]):
                self.assertIn("/reset", self.chat(f"/load {self.file('odd.json', content)}", "Hello", "/help"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    TERRACE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
