// A stand-in for the server: the endpoints that the app uses, with answers worth looking at. What the last message says
// chooses the answer: see `answers`.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';

const dist = new URL('../dist/', import.meta.url);
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
/// As src/serve/app.cpp sends it; server.test.mjs compares.
export const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const essay = `Decoding is limited by **memory bandwidth**: each token reads every weight once, so a machine that moves 60 GB/s cannot write more than about 60 GB/s ÷ the bytes per token.

## What helps

1. **Smaller weights.** 4-bit blocks read a quarter of what 16-bit ones do.
2. **Several answers in one step.** The weights are read once for all of them.
3. **Keeping the prefix.** A conversation that goes on is not read again.

| Model | Bytes per token | Tokens/s |
| --- | ---: | ---: |
| 0.6B, 4 bits | 0.4 GB | 141 |
| 8B, 4 bits | 4.6 GB | 12.9 |
| 30B-A3B, 4 bits | 1.9 GB | 30.2 |

You can measure your own bandwidth in a few lines:

\`\`\`python
import time
import numpy as np

data = np.ones(1 << 27, dtype=np.float32)  # 512 MiB
start = time.perf_counter()
total = data.sum()
seconds = time.perf_counter() - start
print(f"{data.nbytes / seconds / 1e9:.1f} GB/s")
\`\`\`

> Run it twice: the first pass also pays for touching the pages.

For the details see \`terrace bench\`, which prints the achieved share of the limit.`;

const thought = `The user asks why decoding is slow. The main point is bandwidth.

- Each token reads all weights.
- Prompts are different: they are limited by arithmetic.

I should give a formula, a table and a way to measure it.`;

const attack = `<script>window.attacked = 1</script><img src=x onerror="window.attacked = 1"> <b>bold?</b>
[click](javascript:window.attacked=1) ![pixel](https://example.com/pixel.png) <std::vector<int>>

[data](data:text/html,<script>window.attacked=1</script>) [good](https://example.com/)`;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const pieces = (text, size = 12) => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];

/// Each yields deltas, {progress}, {finish} or {error}.
const answers = {
  async *limits() {
    for (const processed of [0, 400, 800, 1180]) {
      yield { progress: { total: 1180, cache: 0, processed } };
      await pause(20);
    }
    for (const text of pieces(thought)) yield { reasoning_content: text };
    for (const text of pieces(essay)) yield { content: text };
  },
  async *weather() {
    yield { content: 'I will look that up.' };
    const call = (index, part) => ({ tool_calls: [{ index, ...part }] });
    yield call(0, { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '' } });
    for (const text of pieces('{"city": "Lisbon", "days": 3, "unit": "celsius"}', 6)) yield call(0, { function: { arguments: text } });
    yield call(1, { id: 'call_2', type: 'function', function: { name: 'get_time', arguments: '' } });
    yield call(1, { function: { arguments: '{"zone": "Europe/Lisbon"}' } });
    yield { finish: 'tool_calls' };
  },
  async *attack() {
    for (const text of pieces(attack, 7)) yield { content: text };
  },
  async *endless() {
    for (let i = 1; i < 5000; ++i) {
      yield { content: `word${i} ` };
      await pause(10);
    }
  },
  async *reading() {
    for (let processed = 0; processed <= 48_000; processed += 2000) {
      yield { progress: { total: 52_000, cache: 8000, processed: 8000 + processed } };
      await pause(processed < 20_000 ? 5 : 1000);
    }
  },
  async *short() {
    yield { content: 'It ends in the middle' };
    yield { finish: 'length' };
  },
  async *broken() {
    yield { content: 'This much came' };
    await pause(30);
    yield { error: 'the model could not go on: the memory for its context is used up' };
  },
};

function totals(state) {
  // A plausible load, so that the monitor has something to show.
  const seconds = state.seconds ?? (Date.now() - state.started) / 1000 + 400;
  return {
    requests: 37 + Math.floor(seconds / 9),
    steps: Math.round(seconds * 20),
    prompt_tokens_read: Math.round(seconds * 160 + 2200 * Math.sin(seconds / 20)),
    prompt_tokens_cached: Math.round(seconds * 320),
    completion_tokens: Math.round(seconds * 38 + 130 * Math.sin(seconds / 7)),
    prompt_seconds: seconds * 0.2,
    decode_seconds: seconds * 0.6,
  };
}

const slot = (id, busy, prompt = 0, read = 0, cached = 0, decoded = 0) => ({
  id,
  id_task: busy ? 100 + id : -1,
  n_ctx: 32768,
  is_processing: busy,
  n_prompt_tokens: prompt,
  n_prompt_tokens_processed: read,
  n_prompt_tokens_cache: cached,
  next_token: { n_decoded: decoded },
});

const statusOf = (state) => ({
  model: {
    id: 'qwen3-30b-a3b-q4_k_m',
    meta: {
      architecture: 'qwen3moe',
      name: 'Qwen3 30B A3B',
      n_vocab: 151936,
      n_ctx: 32768,
      n_ctx_train: 40960,
      n_embd: 2048,
      size: 18556686912,
    },
  },
  version: '0.1.0',
  numeric_profile: 'standard',
  kv_type: 'f16',
  loaded: true,
  instruction_set: 'AVX-512 VNNI',
  threads: 8,
  chat_format: 'hermes',
  token_bytes: { dense: 620e6, experts: 1040e6, head: 255e6, state: 0, kv_per_position: 98304 },
  memory: {
    weights: 18556686912,
    KV: 1610612736,
    states: 0,
    activations: 412e6,
    logits: 21e6,
    other: 9.4e6,
    conversation_cache: 1288490188,
  },
  cache: { bytes: 1288490188, limit: 2147483648, conversations: 14 },
  queue: { waiting: 1, limit: 64 },
  slots: [slot(0, true, 1180, 1180, 0, 212), slot(1, true, 18400, 11264, 6144), slot(2, false), slot(3, false)],
  totals: totals(state),
});

const props = {
  default_generation_settings: {
    n_ctx: 32768,
    params: { temperature: 0.7, top_k: 20, top_p: 0.8, min_p: 0, repeat_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
  },
};

async function stream(request, response, state) {
  let body = '';
  for await (const part of request) body += part;
  const asked = JSON.parse(body);
  state.requests.push(asked);
  const last = asked.messages.findLast((message) => message.role === 'user' || message.role === 'tool');
  const text = last.content;
  if (text.includes('refused'))
    return refuse(
      response,
      400,
      'messages: the prompt has 40,000 tokens and the context 32,768; shorten it, or start the server with a larger --ctx',
    );
  const name = last.role === 'tool' ? null : Object.keys(answers).find((word) => text.includes(word));
  const echo = async function* () {
    for (const piece of pieces(`You said: ${text}`)) yield { content: piece };
  };
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' });
  let gone = false;
  response.on('close', () => {
    gone = true;
    state.closed += 1;
  });
  const write = (data) => response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  const chunk = (delta, finish = null) => write({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });
  response.write(': a comment\n\n');
  chunk({ role: 'assistant', content: '' });
  let finish = 'stop';
  for await (const event of (name ? answers[name] : echo)()) {
    if (gone) return;
    if (event.progress) write({ choices: [], prompt_progress: event.progress });
    else if (event.finish) finish = event.finish;
    else if (event.error) return response.end(`data: ${JSON.stringify({ error: { message: event.error } })}\n\n`);
    else chunk(event);
    await pause(state.delay);
  }
  chunk({}, finish);
  write({
    choices: [],
    usage: { completion_tokens_details: { reasoning_tokens: name === 'limits' ? 64 : 0 } },
    timings: { cache_n: 812, prompt_n: 368, prompt_per_second: 402.4, predicted_n: 486, predicted_per_second: 28.6 },
  });
  write('[DONE]');
  response.end();
}

function refuse(response, status, message) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }));
}

async function chats(request, response, state) {
  const id = decodeURIComponent(request.url.slice('/app/chats/'.length));
  const send = (json) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(json));
  };
  if (request.url === '/app/chats') {
    const list = [...state.chats.values()].map(({ chat }) => ({ id: chat.id, title: chat.title, updated: chat.updated }));
    return send({ enabled: state.enabled, chats: list.sort((a, b) => b.updated - a.updated) });
  }
  if (!state.enabled) return refuse(response, 404, 'this server keeps no chats');
  const kept = state.chats.get(id);
  if (request.method === 'PUT') {
    let body = '';
    for await (const part of request) body += part;
    const { revision, chat } = JSON.parse(body);
    if ((kept?.revision ?? 0) !== revision) return refuse(response, 409, 'the chat has been changed by another');
    state.chats.set(id, { revision: revision + 1, chat });
    return send({ revision: revision + 1 });
  }
  if (!kept) return refuse(response, 404, `there is no chat ${id}`);
  if (request.method === 'DELETE') {
    state.chats.delete(id);
    return send({ deleted: true });
  }
  send(kept);
}

async function file(response, path) {
  try {
    const body = await readFile(new URL(path === '/' ? 'index.html' : path.slice(1), dist));
    response.writeHead(200, { 'Content-Type': types[extname(path)] ?? types['.html'], 'Content-Security-Policy': policy });
    response.end(body);
  } catch {
    refuse(response, 404, `there is nothing at ${path}`);
  }
}

/// `options`: {key, enabled, delay}. Returns {address, state, close}.
export async function startMock(options = {}) {
  const state = { started: Date.now(), requests: [], closed: 0, chats: new Map(), enabled: false, delay: 2, key: '', ...options };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const api = pathname.startsWith('/v1/') || pathname === '/props' || pathname.startsWith('/app/chats');
    if (!api) return file(response, pathname);
    if (state.key && request.headers.authorization !== `Bearer ${state.key}`) return refuse(response, 401, 'this server needs a key');
    if (pathname === '/v1/chat/completions') return stream(request, response, state);
    if (pathname.startsWith('/app/chats')) return chats(request, response, state);
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(pathname === '/props' ? props : statusOf(state)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    state,
    close: () => {
      server.closeAllConnections?.();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
