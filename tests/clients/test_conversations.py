"""Long conversations: what was read once is not read again, and the answers have the bits of a cold read."""

import os
import pathlib
import resource
import signal
import tempfile
import threading
import time
import unittest

from support import Server

# Words that no model's template or vocabulary treats in a special way.
WORDS = ("river stone lamp window garden paper train bridge cloud market table forest letter engine harbour "
         "candle mirror field station winter").split()


def text(words, first=0):
    return " ".join(WORDS[(first + i * i + i // 7) % len(WORDS)] for i in range(words))


def turns(server, count, prompt_words, most=12):
    """Twelve turns on a warm cache: the choices with their log-probabilities, and the usage of each."""
    messages = [{"role": "system", "content": text(prompt_words)}]
    answers = []
    for turn in range(count):
        messages.append({"role": "user", "content": f"Turn {turn}: {text(9, turn)}?"})
        body = {"messages": list(messages), "max_tokens": most, "temperature": 0.8, "seed": turn, "logprobs": True,
                "top_logprobs": 5, "chat_template_kwargs": {"enable_thinking": False}}
        status, answer, _ = server.request("/v1/chat/completions", body)
        assert status == 200, answer
        answers.append((body, answer["choices"][0], answer["usage"]))
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
    return answers


class Conversations(unittest.TestCase):
    def check(self, model, words, *options):
        warm, cold = Server(model, *options), Server(model, "--cache-mb", "0", *options)
        self.addCleanup(warm.stop)
        self.addCleanup(cold.stop)
        answers = turns(warm, 12, words)
        for turn, (body, choice, usage) in enumerate(answers):
            _, again, _ = cold.request("/v1/chat/completions", body)
            self.assertEqual(again["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
            self.assertEqual(again["choices"][0], choice, f"turn {turn}")
            if turn > 0:
                read = usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]
                self.assertLess(read, 160, f"turn {turn} read {read} of {usage['prompt_tokens']} tokens again")
        # A branch from the middle, and the same prompt once more.
        body, choice, _ = answers[5]
        _, again, _ = warm.request("/v1/chat/completions", body)
        self.assertEqual(again["choices"][0], choice)
        self.assertGreater(again["usage"]["prompt_tokens_details"]["cached_tokens"], 0.8 * again["usage"]["prompt_tokens"])

    def test_llama(self):
        self.check("llama", 130, "--ctx", "4096")

    def test_qwen35moe(self):
        self.check("qwen35moe", 130, "--ctx", "4096")

    def test_qwen4exp(self):
        self.check("qwen4exp", 130, "--ctx", "4096")

    def test_tinyflash(self):
        assets = os.environ.get("TERRACE_ASSETS")
        model = pathlib.Path(assets or "/nonexistent") / "tinyflash/model-bf16.gguf"
        if not model.exists():
            self.skipTest("needs the assets (scripts/test --assets)")
        self.check(str(model), 1900, "--ctx", "8192")

    def test_agents_that_alternate_keep_their_prefixes(self):
        server = Server("qwen35moe")
        prompts = [[{"role": "system", "content": text(110, 31 * agent)}] for agent in range(5)]
        for turn in range(4):
            for agent, messages in enumerate(prompts):
                messages.append({"role": "user", "content": f"{turn} {text(5, turn)}"})
                _, answer, _ = server.request("/v1/chat/completions", {"messages": messages, "max_tokens": 6})
                messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
                usage = answer["usage"]
                if turn > 0:
                    self.assertGreater(usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"] - 160)
        self.assertEqual(server.stop(), 0)

    def test_conversations_survive_a_server_that_is_killed(self):
        for model in ("llama", "qwen35moe"):
            with tempfile.TemporaryDirectory() as folder:
                options = ("--ctx", "4096", "--cache-dir", folder)
                first = Server(model, *options)
                body, choice, usage = turns(first, 3, 130)[-1]
                # What was asked for last may still be on its way to the disk.
                for _ in range(200):
                    if not list(pathlib.Path(folder).glob("*.part")) and len(list(pathlib.Path(folder).glob("*.conversation"))) > 1:
                        break
                    time.sleep(0.02)
                time.sleep(0.3)
                first.stop(signal.SIGKILL)
                (pathlib.Path(folder) / "0123.page.part").write_bytes(b"half")
                second = Server(model, *options)
                _, again, _ = second.request("/v1/chat/completions", body)
                self.assertEqual(again["choices"][0], choice)
                self.assertGreater(again["usage"]["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"] - 160)
                with self.assertRaises(RuntimeError) as caught:
                    Server(model, *options)
                self.assertIn("another server uses this folder", str(caught.exception))
                self.assertEqual(second.stop(), 0)
                # Another model begins anew.
                other = Server("qwen3", *options)
                self.assertEqual(other.request("/v1/status")[1]["cache"]["conversations"], 0)
                self.assertEqual(other.stop(), 0)

    def test_the_limit_holds(self):
        server = Server("qwen35moe", "--cache-mb", "1")
        for number in range(12):
            server.request("/v1/chat/completions", {"messages": [{"role": "user", "content": text(300, number)}], "max_tokens": 4})
            cache = server.request("/v1/status")[1]["cache"]
            self.assertLessEqual(cache["bytes"], cache["limit"])
        self.assertGreater(cache["conversations"], 0)
        self.assertEqual(server.stop(), 0)


class Slots(unittest.TestCase):
    """Conversations that requests save to files and restore."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "slots"

    def start(self, model, *options):
        server = Server(model, "--slot-save-path", str(self.folder), "--slots", "2", *options)
        self.addCleanup(server.stop)
        return server

    def act(self, server, action, body=None, slot=0):
        return server.request(f"/slots/{slot}?action={action}", body, method="POST")[:2]

    def test_a_conversation_outlives_its_server(self):
        for model in ("llama", "qwen35moe", "qwen4exp"):
            with self.subTest(model=model):
                server = self.start(model, "--ctx", "4096")
                answers = turns(server, 3, 130)
                status, saved = self.act(server, "save", {"filename": "talk.bin"})
                self.assertEqual(status, 200, saved)
                self.assertEqual((saved["id_slot"], saved["filename"]), (0, "talk.bin"))
                self.assertEqual(saved["n_written"], (self.folder / "talk.bin").stat().st_size)
                server.stop()
                server, cold = self.start(model, "--ctx", "4096"), Server(model, "--ctx", "4096", "--cache-mb", "0")
                self.addCleanup(cold.stop)
                status, restored = self.act(server, "restore", {"filename": "talk.bin"}, slot=1)
                self.assertEqual(status, 200, restored)
                self.assertEqual((restored["n_restored"], restored["n_read"]), (saved["n_saved"], saved["n_written"]))
                body, choice, _ = answers[-1]
                body = {**body, "messages": body["messages"] + [{"role": "assistant", "content": choice["message"]["content"]},
                                                                {"role": "user", "content": "And now?"}]}
                warm, again = server.request("/v1/chat/completions", body)[1], cold.request("/v1/chat/completions", body)[1]
                self.assertEqual(warm["choices"], again["choices"])
                self.assertGreater(warm["usage"]["prompt_tokens_details"]["cached_tokens"], 0.5 * saved["n_saved"])

    def test_erasing(self):
        server = self.start("qwen35moe")
        turns(server, 1, 20)
        self.assertGreater(self.act(server, "erase")[1]["n_erased"], 20)
        self.assertEqual(self.act(server, "erase"), (200, {"id_slot": 0, "n_erased": 0}))

    def test_refusals(self):
        server = self.start("llama")
        for name in ("../talk", "/etc/passwd", "", ".hidden", "a/b", "a\u0000b", "x" * 200):
            self.assertEqual(self.act(server, "save", {"filename": name})[0], 400)
            self.assertEqual(self.act(server, "restore", {"filename": name})[0], 400)
        for action, body, slot, status, words in (
                ("save", {}, 0, 400, "filename: is missing"), ("save", {"filename": 5}, 0, 400, "filename: must be"),
                ("save", {"filename": "a"}, 0, 400, "no conversation"), ("save", {"filename": "a"}, 2, 404, "no slot '2'"),
                ("save", {"filename": "a"}, "x", 404, "no slot 'x'"), ("restore", {"filename": "a"}, 0, 404, "no saved conversation"),
                ("keep", {"filename": "a"}, 0, 400, "must be one of save")):
            got, answer = self.act(server, action, body, slot)
            self.assertEqual(got, status, answer)
            self.assertIn(words, answer["error"]["message"])
        turns(server, 1, 20)
        self.assertEqual(self.act(server, "save", {"filename": "a"})[0], 200)
        broken = bytearray((self.folder / "a").read_bytes())
        broken[len(broken) // 2] ^= 1
        (self.folder / "a").write_bytes(broken)
        status, answer = self.act(server, "restore", {"filename": "a"})
        self.assertEqual(status, 400)
        self.assertIn("checksum", answer["error"]["message"])
        other = self.start("qwen3")
        status, answer = self.act(other, "restore", {"filename": "a"})
        self.assertEqual(status, 400)
        self.assertIn("another model", answer["error"]["message"])
        none = Server("llama")
        self.addCleanup(none.stop)
        self.assertEqual(self.act(none, "save", {"filename": "a"})[0], 501)

    def test_a_full_disk_leaves_no_file(self):
        server = self.start("llama")
        turns(server, 1, 20)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        status, answer = self.act(server, "save", {"filename": "a"})
        self.assertEqual(status, 500, answer)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(server.request("/health")[0], 200)


class ModelInMemory(unittest.TestCase):
    def loaded(self, server):
        return server.request("/v1/status")[1]["loaded"]

    def test_it_comes_with_the_first_request_and_goes_when_idle(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server("qwen35moe", "--lazy-load", "--idle-unload", "0.3", "--cache-dir", folder)
            self.addCleanup(server.stop)
            for path in ("/health", "/v1/models", "/v1/status", "/slots", "/props", "/metrics", "/"):
                self.assertEqual(server.request(path)[0], 200, path)
            self.assertFalse(self.loaded(server))
            first = turns(server, 2, 130)
            self.assertTrue(self.loaded(server))
            for _ in range(200):
                if not self.loaded(server):
                    break
                time.sleep(0.05)
            self.assertFalse(self.loaded(server))
            self.assertTrue(server.request("/props")[1]["is_sleeping"])
            self.assertEqual(server.request("/v1/models")[1]["data"][0]["meta"]["architecture"], "qwen35moe")
            memory = server.request("/v1/status")[1]["memory"]
            self.assertLess(memory["weights"] + memory["KV"] + memory["states"], 1 << 16, memory)
            # With a folder for them, conversations outlive this as well.
            body, choice, _ = first[1]
            again = server.request("/v1/chat/completions", body)[1]
            self.assertEqual(again["choices"][0], choice)
            self.assertGreater(again["usage"]["prompt_tokens_details"]["cached_tokens"], 100)
            self.assertEqual(server.request("/v1/status")[1]["totals"]["requests"], 3)
            self.assertEqual(server.stop(), 0)

    def test_requests_together_load_it_once(self):
        server = Server("llama", "--lazy-load", "--idle-unload", "30")
        answers = []
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, "temperature": 0}
        threads = [threading.Thread(target=lambda: answers.append(server.request("/v1/chat/completions", body))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({status for status, *_ in answers}, {200})
        self.assertEqual(len({answer["choices"][0]["message"]["content"] for _, answer, _ in answers}), 1)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.message.count("loading"), 1)


if __name__ == "__main__":
    unittest.main()
