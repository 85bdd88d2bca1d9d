"""What comes over the wire and should not: malformed requests, limits, keys, foreign pages, clients that go or stall."""

import json
import random
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from malformed import CASES, CHAT, HELLO
from support import BINARY, Server, ServerTest

CHAT_BODY = {"messages": HELLO, "max_tokens": 3}


class Malformed(ServerTest):
    model = "llama"

    def test_each_is_refused_with_its_place(self):
        self.assertGreaterEqual(len(CASES), 200)
        for number, (path, body, status, message) in enumerate(CASES):
            with self.subTest(number=number, path=path, body=str(body)[:120]):
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                got, answer, _ = self.server.request(path, raw=raw)
                self.assertEqual(got, status, answer)
                self.assertIn(message, answer["error"]["message"])
        self.assertEqual(self.server.request(CHAT, CHAT_BODY)[0], 200)

    def test_edges_that_are_possible(self):
        for fields in ({"top_k": 0}, {"top_k": -1}, {"top_k": 10**9}, {"temperature": 0}, {"temperature": 1e-30},
                       {"temperature": -1}, {"top_p": 0}, {"top_p": 1}, {"min_p": 1}, {"seed": -1}, {"max_tokens": 0},
                       {"n": 2}, {"max_tokens": -1, "stop": ["e"]}, {"unknown": {"deep": [1]}}, {"tools": []},
                       {"logprobs": True, "top_logprobs": 20, "grammar": 'root ::= "ab"'}, {"temperature": None}):
            status, answer, _ = self.server.request(CHAT, {**CHAT_BODY, **fields})
            self.assertEqual(status, 200, (fields, answer))
        answer = self.server.request(CHAT, {**CHAT_BODY, "max_tokens": 0})[1]
        self.assertEqual((answer["choices"][0]["message"]["content"], answer["choices"][0]["finish_reason"]), ("", "length"))

    def test_what_is_no_http(self):
        for raw, expected in ((b"\x00\x01\x02\r\n\r\n", b"400"), (b"GET / HTTP/9.9\r\n\r\n", b"400"), (b"nonsense\r\n\r\n", b"400"),
                              (b"GET /health HTTP/1.1\r\nX: " + b"a" * 100000 + b"\r\n\r\n", b"431"),
                              (b"POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
                              (b"POST /tokenize HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"400"),
                              (b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400")):
            with socket.create_connection((self.server.host, self.server.port)) as connection:
                connection.sendall(raw)
                self.assertIn(expected, connection.recv(4096).split(b"\r\n")[0], raw[:40])
        self.assertEqual(self.server.request("/health")[0], 200)

    def test_one_connection_serves_many_requests(self):
        with socket.create_connection((self.server.host, self.server.port)) as connection:
            body = json.dumps({"content": "x"}).encode()
            one = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            connection.sendall(one * 3)  # ahead of the answers
            got = b""
            while got.count(b"tokens") < 3:
                piece = connection.recv(65536)
                self.assertTrue(piece)
                got += piece
            connection.sendall(one)
            self.assertIn(b"200 OK", connection.recv(65536))

    def test_random_disconnects(self):
        random.seed(1)
        body = json.dumps({"messages": HELLO, "max_tokens": 200, "stream": True, "ignore_eos": True}).encode()
        request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

        def visit():
            with socket.create_connection((self.server.host, self.server.port)) as connection:
                connection.sendall(request[:random.randint(1, len(request))])
                for _ in range(random.randint(0, 3)):
                    connection.settimeout(0.05)
                    try:
                        connection.recv(random.randint(1, 2000))
                    except TimeoutError:
                        pass
                if random.random() < 0.3:  # a reset instead of an end
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")

        threads = [threading.Thread(target=lambda: [visit() for _ in range(12)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _ in range(200):
            status = self.server.request("/v1/status")[1]
            if not any(slot["is_processing"] for slot in status["slots"]) and status["queue"]["waiting"] == 0:
                break
            time.sleep(0.05)
        else:
            self.fail("slots are still busy with clients that have gone")
        self.assertEqual(self.server.request(CHAT, CHAT_BODY)[0], 200)


class Access(unittest.TestCase):
    def test_keys(self):
        with tempfile.NamedTemporaryFile("w") as keys:
            keys.write("# keys\nsecond\n")
            keys.flush()
            server = Server("llama", "--api-key", "first", "--api-key-file", keys.name)
            ask = lambda **headers: server.request(CHAT, CHAT_BODY, headers=headers.items())[0]
            self.assertEqual(ask(), 401)
            self.assertEqual(ask(Authorization="Bearer wrong"), 401)
            self.assertEqual(ask(Authorization="first"), 401)
            self.assertEqual(ask(Authorization="Bearer first"), 200)
            self.assertEqual(ask(**{"x-api-key": "second"}), 200)
            self.assertEqual(server.request("/health")[0], 200)
            for path in ("/v1/models", "/metrics", "/slots", "/props", "/v1/status"):
                self.assertEqual(server.request(path)[0], 401)
            keys.seek(0)
            keys.truncate()
            keys.write("third\n")
            keys.flush()
            server.process.send_signal(signal.SIGHUP)
            for _ in range(100):
                if ask(**{"x-api-key": "third"}) == 200:
                    break
                time.sleep(0.02)
            self.assertEqual(ask(**{"x-api-key": "second"}), 401)
            self.assertEqual(ask(**{"x-api-key": "third"}), 200)
            self.assertEqual(server.stop(), 0)

    def test_foreign_pages_and_names(self):
        server = Server("llama", "--cors", "https://app.example", "--allow-host", "box.lan")
        get = lambda **headers: server.request("/v1/models", headers=headers.items())
        self.assertEqual(get(Host="evil.example")[0], 403)
        self.assertEqual(get(Host="box.lan:80")[0], 200)
        self.assertEqual(get(Origin="https://evil.example")[0], 403)
        self.assertEqual(get(Origin=server.url)[0], 200)
        status, _, headers = get(Origin="https://app.example")
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "https://app.example"))
        status, _, headers = server.request("/v1/chat/completions", method="OPTIONS", headers={"Origin": "https://app.example"}.items())
        self.assertEqual(status, 204)
        self.assertIn("POST", headers["Access-Control-Allow-Methods"])
        self.assertEqual(server.stop(), 0)

    def test_what_cannot_start(self):
        for options, message in ((("--host", "0.0.0.0"), "there is no key"), (("--host", "999.1.1.1", "--allow-public"), "is unknown"),
                                 (("--tls-cert", "/nonexistent"), "both a certificate and its key"),
                                 (("--api-key-file", "/nonexistent"), "/nonexistent")):
            with self.assertRaises(RuntimeError) as caught:
                Server("llama", *options)
            self.assertIn(message, str(caught.exception))
        first = Server("llama")
        with self.assertRaises(RuntimeError) as caught:
            Server("llama", "--port", str(first.port))
        self.assertIn("--port", str(caught.exception))
        first.stop()

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                            "-keyout", f"{folder}/key", "-out", f"{folder}/cert", "-addext", "subjectAltName=IP:127.0.0.1"],
                           check=True, capture_output=True)
            server = Server("llama", "--tls-cert", f"{folder}/cert", "--tls-key", f"{folder}/key")
            self.assertEqual(server.scheme, "https")
            context = ssl.create_default_context(cafile=f"{folder}/cert")
            with socket.create_connection((server.host, server.port)) as plain:
                with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                    for _ in range(3):
                        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        self.assertIn(b"200 OK", connection.recv(4096))
            with socket.create_connection((server.host, server.port)) as connection:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertNotIn(b"200 OK", connection.recv(4096))
            self.assertEqual(server.stop(), 0)


class TerminalChat(unittest.TestCase):
    """terrace chat --server, with this server and with ones that are none."""

    def chat(self, url, *options):
        done = subprocess.run([BINARY, "chat", "--server", url, *options], input="Hello\n", capture_output=True, text=True, timeout=30)
        return done.stdout

    def test_answers(self):
        server = Server("llama", "--api-key", "k")
        self.assertGreater(len(self.chat(server.url, "--api-key", "k", "-n", "5", "--temp", "0")), 3)
        self.assertIn("401", self.chat(server.url))
        self.assertEqual(server.stop(), 0)

    def test_servers_that_are_none(self):
        self.assertIn("no server answers", self.chat("http://127.0.0.1:1"))
        for body, message in ((b"data: 5\n\n", "not known"), (b"data: {\"choices\":[5]}\n\n", "not known"), (b"data: {\n", "not known"),
                              (b"data: {\"error\":\"x\"}\n\n", "not known"), (b"data: {\"error\":{\"message\":\"no luck\"}}\n\n", "no luck")):
            with socket.create_server(("127.0.0.1", 0)) as listener:
                def answer():
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                thread = threading.Thread(target=answer)
                thread.start()
                self.assertIn(message, self.chat("http://127.0.0.1:%d" % listener.getsockname()[1]))
                thread.join()


class Stopping(unittest.TestCase):
    def test_running_answers_may_end(self):
        server = Server("llama", "--drain", "20")
        events = []
        thread = threading.Thread(target=lambda: events.extend(server.events(
            CHAT, {"messages": HELLO, "max_tokens": 600, "stream": True, "ignore_eos": True})))
        thread.start()
        while not any(slot["is_processing"] for slot in server.request("/slots")[1]):
            time.sleep(0.01)
        self.assertEqual(server.stop(), 0)
        thread.join()
        self.assertEqual(events[-1][1], "[DONE]")

    def test_a_bound_ends_those_that_go_on(self):
        server = Server("llama", "--drain", "0.2")
        thread = threading.Thread(target=lambda: server.events(
            CHAT, {"messages": HELLO, "max_tokens": 900, "n": 16, "stream": True, "ignore_eos": True}))
        thread.start()
        while not any(slot["is_processing"] for slot in server.request("/slots")[1]):
            time.sleep(0.01)
        start = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - start, 10)
        thread.join()

    def test_a_full_queue_says_when_to_come_back(self):
        server = Server("llama", "--slots", "1", "--queue", "1")
        body = {"messages": HELLO, "max_tokens": 400, "ignore_eos": True}
        results = []
        threads = [threading.Thread(target=lambda: results.append(server.request(CHAT, body))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        refused = [headers for status, _, headers in results if status == 503]
        self.assertTrue(refused)
        self.assertTrue(all(headers["Retry-After"] for headers in refused))
        self.assertGreaterEqual(sum(status == 200 for status, _, _ in results), 2)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
