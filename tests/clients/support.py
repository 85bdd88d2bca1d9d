"""Starts `terrace serve` on a fixture and talks to it; what the tests of all clients share."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import anthropic
import openai

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = ROOT / "build/release/terrace"
FIXTURES = ROOT / "tests/data/fixtures"

WEATHER = {
    "name": "get_weather",
    "description": "The weather of the next days",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 12},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    },
}
CHAT_TOOL = {"type": "function", "function": WEATHER}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 10},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


class Server:
    """A running server; `model` is a fixture's name or a path."""

    def __init__(self, model="qwen35moe", *options):
        path = model if os.path.exists(model) else FIXTURES / model / "model-f32.gguf"
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [BINARY, "serve", path, "--port", "0", "--threads", "2", *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if " is served at " not in line:
            self.process.wait(10)
            self.stop()
            raise RuntimeError(f"the server did not start: {line}{self.message}")
        self.url = line.split(" is served at ")[1].strip()
        self.scheme, rest = self.url.split("://")
        self.host, port = rest.rsplit(":", 1)
        self.port = int(port)

    def stop(self, number=signal.SIGTERM):
        """The exit code."""
        if self.log.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stdout.close()
        self.log.seek(0)
        self.message = self.log.read()
        self.log.close()
        return code

    def openai(self, **options):
        return openai.OpenAI(base_url=self.url + "/v1", api_key=options.pop("api_key", "none"), max_retries=0, **options)

    def anthropic(self, **options):
        return anthropic.Anthropic(base_url=self.url, api_key=options.pop("api_key", "none"), max_retries=0, **options)

    def request(self, path, body=None, method=None, headers=(), raw=None):
        """(status, JSON or text, headers) of a plain request."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        connection.request(method or ("GET" if data is None else "POST"), path, data, dict(headers))
        response = connection.getresponse()
        text = response.read().decode("utf-8")
        connection.close()
        kind = response.getheader("content-type") or ""
        return response.status, json.loads(text) if kind.startswith("application/json") else text, response.headers

    def events(self, path, body):
        """The (event, data) pairs of a stream; data is JSON, or text such as [DONE]."""
        status, text, _ = self.request(path, body)
        assert status == 200, text
        pairs = []
        for block in text.split("\n\n"):
            lines = [line for line in block.split("\n") if line and not line.startswith(":")]
            if not lines:
                continue
            fields = dict(line.split(": ", 1) for line in lines)
            data = fields["data"]
            pairs.append((fields.get("event"), json.loads(data) if data.startswith("{") else data))
        return pairs


class ServerTest(unittest.TestCase):
    """Its server runs for all tests of a class."""

    model = "qwen35moe"
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.model, *cls.options)
        cls.client = cls.server.openai()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, "the server did not end well"
