"""Long conversations: what was read once is not read again, and the answers have the bits of a cold read."""

import os
import pathlib
import signal
import tempfile
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


if __name__ == "__main__":
    unittest.main()
