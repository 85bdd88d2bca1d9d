"""Load on `terrace serve`, beside llama-server on the same file if that is given.

    python3 bench/serve.py load MODEL [--llama-server PATH] [--seconds 300]
    python3 bench/serve.py turns MODEL [--system-tokens 6000]

load: tokens per second at one slot and at eight; mixed requests of many clients; a short queue, whose refusals are tried
again; the time between tokens while one client keeps sending long prompts. turns: the time to the first token of turn
twelve of a chat, and of a cold read of the same prompt. Prints one JSON line per measurement.
"""

import argparse
import http.client
import json
import pathlib
import random
import socket
import statistics
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = ("river stone lamp window garden paper train bridge cloud market table forest letter engine harbour "
         "candle mirror field station winter").split()


def text(words, seed):
    chooser = random.Random(seed)
    return " ".join(chooser.choice(WORDS) for _ in range(words))


class Server:
    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if self.request("GET", "/health")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"did not start: {' '.join(map(str, command))}")

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data

    def stream(self, body):
        """(status, times of the pieces, tokens, error) of a streamed chat."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        times, tokens, error = [], 0, None
        if response.status != 200:
            error = response.read().decode()
        else:
            for line in response:
                if not line.startswith(b"data: {"):
                    continue
                chunk = json.loads(line[6:])
                if "error" in chunk:
                    error = chunk["error"]
                if chunk.get("usage"):
                    tokens = chunk["usage"]["completion_tokens"]
                elif chunk["choices"] and chunk["choices"][0]["delta"].get("content"):
                    times.append(time.monotonic())
        connection.close()
        return response.status, times, tokens, error

    def memory(self):
        """Resident bytes."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        return 0

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(engine, options, slots, queue=64):
    port = free_port()
    if engine == "terrace":
        command = [options.terrace, "serve", options.model, "--port", str(port), "--slots", str(slots), "--queue", str(queue),
                   "--cache-mb", "256"]  # soon full, so that what grows afterwards is a leak
    else:
        command = [options.llama_server, "-m", options.model, "--port", str(port), "-np", str(slots), "-c", str(8192 * slots),
                   "-t", "2", "--no-webui"]
    return Server(command, port)


def chat(words, most, seed, unique=True):
    return {"messages": [{"role": "user", "content": (f"{seed} " if unique else "") + text(words, seed)}], "max_tokens": most,
            "temperature": 0.8, "seed": seed, "ignore_eos": True}


def run_clients(count, seconds, visit):
    """Clients that call visit(client, number) one after another for a while; (seconds it took, all results)."""
    results, lock, end = [], threading.Lock(), time.monotonic() + seconds
    begin = time.monotonic()

    def client(index):
        number = 0
        while time.monotonic() < end:
            got = visit(index, number)
            number += 1
            with lock:
                results.append(got)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begin, results


def throughput(engine, options):
    speeds = {}
    for slots in (1, 8):
        server = start(engine, options, slots)
        server.stream(chat(20, 8, 1))
        took, results = run_clients(slots, options.seconds / 10, lambda c, n: server.stream(chat(20, 64, 1000 * c + n)))
        speeds[slots] = sum(tokens for _, _, tokens, _ in results) / took
        server.stop()
    return {"measurement": "throughput", "engine": engine, "tokens_per_second_1": round(speeds[1], 1),
            "tokens_per_second_8": round(speeds[8], 1), "ratio": round(speeds[8] / speeds[1], 2)}


def mixed(engine, options):
    server = start(engine, options, 8)
    chooser = random.Random(7)
    shapes = [(chooser.choice((5, 40, 200, 800)), chooser.choice((8, 32, 96))) for _ in range(97)]

    def visit(client, number):
        words, most = shapes[(client * 31 + number * 7) % len(shapes)]
        return server.stream(chat(words, most, client * 10007 + number))

    run_clients(8, options.seconds / 10, visit)
    memory = []
    half = threading.Timer(options.seconds / 2, lambda: memory.append(server.memory()))
    half.start()
    took, results = run_clients(options.clients, options.seconds, visit)
    memory.append(server.memory())
    server.stop()
    statuses = [status for status, *_ in results]
    return {"measurement": "mixed", "engine": engine, "clients": options.clients, "seconds": round(took), "requests": len(results),
            "refused": statuses.count(503), "errors": sum(e is not None and s != 503 for s, _, _, e in results),
            "tokens_per_second": round(sum(t for _, _, t, _ in results) / took, 1),
            "resident_mb_half_way": memory[0] >> 20, "resident_mb_at_the_end": memory[1] >> 20}


def short_queue(options):
    server = start("terrace", options, 8, queue=8)

    def visit(client, number):
        tries = 0
        while True:
            status, _, _, error = server.stream(chat(40, 32, client * 10007 + number))
            if status != 503:
                return status, tries, error
            tries += 1
            time.sleep(random.uniform(0.2, 1.0))

    _, results = run_clients(options.clients, options.seconds / 5, visit)
    server.stop()
    return {"measurement": "short queue", "engine": "terrace", "requests": len(results),
            "refused_first": sum(tries > 0 for _, tries, _ in results), "refusals": sum(tries for _, tries, _ in results),
            "failed": sum(status != 200 or error is not None for status, _, error in results)}


def pace(engine, options):
    server = start(engine, options, 8)
    stop, prompts = threading.Event(), []

    def long_prompts():
        number = 0
        while not stop.is_set():
            prompts.append(server.stream(chat(3900, 1, 77000 + number))[0])
            number += 1

    reader = threading.Thread(target=long_prompts)
    reader.start()
    _, results = run_clients(7, options.seconds / 5, lambda c, n: server.stream(chat(20, 200, 1000 * c + n)))
    stop.set()
    reader.join()
    server.stop()
    gaps = sorted(b - a for _, times, _, _ in results for a, b in zip(times, times[1:]))
    median, late = statistics.median(gaps), gaps[int(len(gaps) * 0.99)]
    return {"measurement": "pace beside long prompts", "engine": engine, "gaps": len(gaps), "long_prompts": len(prompts),
            "median_ms": round(median * 1e3, 1), "p99_ms": round(late * 1e3, 1), "max_ms": round(gaps[-1] * 1e3, 1),
            "ratio": round(late / median, 2)}


def first_token(server, body):
    begin = time.monotonic()
    status, times, _, error = server.stream(body)
    assert status == 200 and times, (status, error)
    return times[0] - begin


def turns(options):
    port = free_port()
    server = Server([options.terrace, "serve", options.model, "--port", str(port), "--ctx", str(options.system_tokens + 4096)], port)
    messages = [{"role": "system", "content": text(options.system_tokens, 5)}]
    cold = first_token(server, {"messages": messages + [{"role": "user", "content": "Hello"}], "max_tokens": 2, "ignore_eos": True})
    for turn in range(1, 13):
        messages.append({"role": "user", "content": f"Turn {turn}: {text(10, turn)}?"})
        body = {"messages": list(messages), "max_tokens": 24, "temperature": 0, "ignore_eos": True}
        warm = first_token(server, body)
        answer = json.loads(server.request("POST", "/v1/chat/completions", body)[1])
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
    usage = answer["usage"]
    again = first_token(server, {**body, "cache_prompt": False})
    server.stop()
    print(json.dumps({"measurement": "turns", "model": pathlib.Path(options.model).name, "prompt_tokens": usage["prompt_tokens"],
                      "first_token_cold_s": round(again, 3), "first_token_of_the_first_s": round(cold, 3),
                      "first_token_turn_12_s": round(warm, 4), "share": round(warm / again, 4)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("load", "turns"))
    parser.add_argument("model")
    parser.add_argument("--terrace", default=ROOT / "build/release/terrace")
    parser.add_argument("--llama-server")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--measure", nargs="+", default=["throughput", "pace", "mixed", "queue"],
                        choices=["throughput", "pace", "mixed", "queue"])
    parser.add_argument("--system-tokens", type=int, default=6000)
    options = parser.parse_args()
    if options.what == "turns":
        return turns(options)
    engines = ["terrace"] + (["llama-server"] if options.llama_server else [])
    for engine in engines:
        for name, measure in (("throughput", throughput), ("pace", pace), ("mixed", mixed)):
            if name in options.measure:
                print(json.dumps(measure(engine, options)), flush=True)
    if "queue" in options.measure:
        print(json.dumps(short_queue(options)), flush=True)


if __name__ == "__main__":
    main()
