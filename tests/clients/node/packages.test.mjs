// The npm packages openai and @anthropic-ai/sdk on each endpoint, streaming and not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const messages = [{ role: 'user', content: 'Hello there' }];
const budget = { reasoning_budget_tokens: 4 };
const parameters = {
  type: 'object',
  properties: { city: { type: 'string', maxLength: 12 }, days: { type: 'integer', minimum: 1, maximum: 7 } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const tool = { type: 'function', function: { name: 'get_weather', description: 'The weather', parameters } };

let server, address, openai, claude;
before(async () => {
  const model = `${root}tests/data/fixtures/qwen35moe/model-f32.gguf`;
  server = spawn(`${root}build/release/terrace`, ['serve', model, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  address = await new Promise((resolve, reject) => {
    let output = '';
    server.stdout.on('data', (data) => {
      output += data;
      const found = output.match(/served at (http:\S+)/);
      if (found) resolve(found[1]);
    });
    server.on('exit', () => reject(new Error(`the server did not start: ${output}`)));
  });
  openai = new OpenAI({ baseURL: `${address}/v1`, apiKey: 'none', maxRetries: 0 });
  claude = new Anthropic({ baseURL: address, apiKey: 'none', maxRetries: 0 });
});
after(() => server.kill('SIGTERM'));

function checkArguments(text) {
  const value = typeof text === 'string' ? JSON.parse(text) : text;
  assert.equal(typeof value.city, 'string');
  assert.ok(Number.isInteger(value.days) && value.days >= 1 && value.days <= 7);
}

test('chat completions, whole and streamed', async () => {
  const body = { model: 'any', messages, max_tokens: 24, seed: 5, temperature: 0.7, ...budget };
  const whole = await openai.chat.completions.create(body);
  let text = '', usage = null, finish = null;
  for await (const chunk of await openai.chat.completions.create({ ...body, stream: true, stream_options: { include_usage: true } })) {
    text += chunk.choices[0]?.delta.content ?? '';
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(finish, whole.choices[0].finish_reason);
  assert.equal(usage.total_tokens, whole.usage.total_tokens);
});

test('tool calls by the streaming helper', async () => {
  const stream = openai.chat.completions.stream({
    model: 'any', messages, max_tokens: 300, tools: [tool], tool_choice: 'required', parallel_tool_calls: false, seed: 2, ...budget,
  });
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].finish_reason, 'tool_calls');
  checkArguments(final.choices[0].message.tool_calls[0].function.arguments);
});

test('a JSON schema', async () => {
  const answer = await openai.chat.completions.create({
    model: 'any', messages, max_tokens: 300, response_format: { type: 'json_schema', json_schema: { name: 'w', strict: true, schema: parameters } }, ...budget,
  });
  checkArguments(answer.choices[0].message.content);
});

test('completions', async () => {
  const body = { model: 'any', prompt: 'Once', max_tokens: 8, seed: 1 };
  const whole = await openai.completions.create(body);
  let text = '';
  for await (const chunk of await openai.completions.create({ ...body, stream: true })) text += chunk.choices[0].text;
  assert.equal(text, whole.choices[0].text);
});

test('responses', async () => {
  const body = { model: 'any', input: 'Hello', max_output_tokens: 300, tools: [{ type: 'function', name: 'get_weather', parameters, strict: true }], tool_choice: 'required', parallel_tool_calls: false, ...budget };
  const whole = await openai.responses.create(body);
  checkArguments(whole.output.find((item) => item.type === 'function_call').arguments);
  const final = await openai.responses.stream(body).finalResponse();
  checkArguments(final.output.find((item) => item.type === 'function_call').arguments);
  assert.equal((await openai.responses.retrieve(whole.id)).id, whole.id);
});

test('embeddings, models and errors', async () => {
  const { data } = await openai.embeddings.create({ model: 'any', input: ['one', 'two'] });
  assert.equal(data.length, 2);
  const norm = data[0].embedding.reduce((sum, value) => sum + value * value, 0);
  assert.ok(Math.abs(norm - 1) < 1e-4);
  assert.equal((await openai.models.list()).data[0].id, 'model-f32');
  await assert.rejects(openai.chat.completions.create({ model: 'any', messages: [] }), (error) => error.status === 400 && error.param === 'messages');
});

test('cancelling a stream', async () => {
  const stream = await openai.chat.completions.create({ model: 'any', messages, max_tokens: 900, ignore_eos: true, stream: true });
  for await (const _ of stream) break;
  for (let i = 0; i < 100; i++) {
    const slots = await (await fetch(`${address}/slots`)).json();
    if (!slots.some((slot) => slot.is_processing)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail('the slot is still busy');
});

test('messages', async () => {
  const input_schema = parameters;
  const body = { model: 'any', messages, max_tokens: 300, tools: [{ name: 'get_weather', input_schema }], tool_choice: { type: 'any', disable_parallel_tool_use: true }, ...budget };
  const whole = await claude.messages.create(body);
  assert.equal(whole.stop_reason, 'tool_use');
  checkArguments(whole.content.find((block) => block.type === 'tool_use').input);
  const final = await claude.messages.stream(body).finalMessage();
  checkArguments(final.content.find((block) => block.type === 'tool_use').input);
  assert.ok((await claude.messages.countTokens({ model: 'any', messages })).input_tokens > 0);
});
