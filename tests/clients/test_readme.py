"""The README's snippets for connecting clients, run as they stand there, with this server's address."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from support import ROOT, Server

PROGRAMS = ROOT / "tests/clients/programs/node_modules/.bin"


def snippets(address):
    """The code blocks of the section, by the first word or words of the line before them."""
    section = (ROOT / "README.md").read_text().split("## Connecting", 1)[1].split("\n## ", 1)[0]
    found = {}
    for title, code in re.findall(r"^([A-Z]\w+(?: [A-Z]\w+)*|curl|opencode)[^\n]*:\n\n```\w+\n(.*?)```", section, re.M | re.S):
        found[title] = code.replace("http://127.0.0.1:8080", address)
    return found


class Snippets(unittest.TestCase):
    def setUp(self):
        self.server = Server("qwen3", "--temp", "0", "--ctx", "300")
        self.addCleanup(self.server.stop)
        self.snippets = snippets(self.server.url)

    def test_all_are_found(self):
        self.assertEqual(set(self.snippets), {"OpenAI SDK", "Anthropic SDK", "curl", "Claude Code", "Codex CLI", "opencode", "Continue", "Open WebUI"})
        self.assertTrue(all(self.server.url in code for code in self.snippets.values()))

    def test_python(self):
        for name in ("OpenAI SDK", "Anthropic SDK"):
            done = subprocess.run([sys.executable, "-c", self.snippets[name]], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(len(done.stdout), 1)

    def test_curl(self):
        done = subprocess.run(["sh", "-c", self.snippets["curl"]], capture_output=True, text=True, timeout=60)
        self.assertEqual(json.loads(done.stdout)["object"], "chat.completion")


@unittest.skipUnless(PROGRAMS.exists(), "needs the programs, which scripts/test --full installs")
class Programs(unittest.TestCase):
    """Coding agents, with a model that answers nonsense."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("qwen35moe", "--ctx", "131072", "--fit-max-tokens")
        cls.snippets = snippets(cls.server.url)
        cls.home = tempfile.TemporaryDirectory()
        cls.environment = {**os.environ, "HOME": cls.home.name, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}

    @classmethod
    def tearDownClass(cls):
        cls.home.cleanup()
        assert cls.server.stop() == 0

    def put(self, path, text):
        file = pathlib.Path(self.home.name) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return str(file)

    def answers(self):
        """How many the server has written."""
        found = re.search(r"^terrace_answers_total (\d+)", self.server.request("/metrics")[1], re.M)
        return int(found.group(1)) if found else 0

    def run_program(self, command, **variables):
        before = self.answers()
        done = subprocess.run(["sh", "-c", command], cwd=self.home.name, env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=240)
        self.assertGreater(self.answers(), before, done.stdout + done.stderr)
        refused = re.findall(r'endpoint="/v1/(?:chat/completions|responses|messages)",status="[45].*', self.server.request("/metrics")[1])
        self.assertEqual(refused, [])
        return done

    def test_claude_code(self):
        setting = self.snippets["Claude Code"].replace("\nclaude\n", "\n")
        done = self.run_program(setting + "claude -p Hello --output-format json", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
        result = json.loads(done.stdout)
        self.assertIsNone(result.get("api_error_status"), result)
        self.assertGreater(result["usage"]["output_tokens"], 0)

    def test_codex(self):
        self.put(".codex/config.toml", self.snippets["Codex CLI"])
        done = self.run_program("codex exec --skip-git-repo-check Hello")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tokens used", done.stderr + done.stdout)

    def test_opencode(self):
        settings = json.loads(self.snippets["opencode"])
        settings["provider"]["terrace"]["models"]["any"]["limit"] = {"context": 131072, "output": 64}
        self.put("opencode.json", json.dumps(settings))
        done = self.run_program("opencode run -m terrace/any Hello")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_continue(self):
        file = self.put(".continue/config.yaml", self.snippets["Continue"])
        self.run_program(f"cn -p --config {file} Hello")  # which fails where nonsense is no text


@unittest.skipUnless(shutil.which("open-webui"), "needs Open WebUI (pip install open-webui, several GB)")
class OpenWebUi(unittest.TestCase):
    def test_models_and_chats(self):
        server = Server("qwen3", "--ctx", "400")
        self.addCleanup(server.stop)
        with tempfile.TemporaryDirectory() as home:
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
            command = "exec env " + snippets(server.url)["Open WebUI"].strip() + f" --host 127.0.0.1 --port {port}"
            environment = {**os.environ, "HOME": home, "DATA_DIR": home, "WEBUI_AUTH": "False", "HF_HUB_OFFLINE": "1"}
            program = subprocess.Popen(["sh", "-c", command], cwd=home, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self.talk(f"http://127.0.0.1:{port}/api")
            finally:
                program.kill()
                program.wait(30)

    def talk(self, url):
        def ask(path, body=None, **headers):
            data = json.dumps(body).encode() if body else None
            request = urllib.request.Request(url + path, data, {"Content-Type": "application/json", **headers})
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.read().decode()

        for _ in range(200):
            try:
                token = json.loads(ask("/v1/auths/signin", {"email": "admin@localhost", "password": "admin"}))["token"]
                break
            except OSError:
                time.sleep(1)
        key = {"Authorization": f"Bearer {token}"}
        model = json.loads(ask("/models", **key))["data"][0]["id"]
        chat = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
        self.assertEqual(json.loads(ask("/chat/completions", chat, **key))["object"], "chat.completion")
        self.assertIn("data: [DONE]", ask("/chat/completions", {**chat, "stream": True}, **key))


if __name__ == "__main__":
    unittest.main()
