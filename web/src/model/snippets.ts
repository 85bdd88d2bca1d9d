// How to connect the common clients.
export interface Snippet {
  id: string;
  name: string;
  note: string;
  file?: string; ///< where the text belongs
  language: string;
  text: string;
}

/// Within single quotes of a shell.
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/// JSON's strings are strings of Python, JavaScript, TOML and YAML too.
const json = (text: string) => JSON.stringify(text);

/// `address` has no slash at its end; `key` stands for the key if the server wants none.
export function snippetsFor(address: string, model: string, key: string, context: number): Snippet[] {
  const base = `${address}/v1`;
  return [
    {
      id: 'curl',
      name: 'curl',
      note: 'Any program that can send HTTP.',
      language: 'bash',
      text: `curl ${quoted(`${base}/chat/completions`)} \\
  -H ${quoted(`Authorization: Bearer ${key}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }))}`,
    },
    {
      id: 'openai-python',
      name: 'OpenAI Python',
      note: 'pip install openai',
      language: 'python',
      text: `from openai import OpenAI

client = OpenAI(base_url=${json(base)}, api_key=${json(key)})
stream = client.chat.completions.create(
    model=${json(model)},
    messages=[{"role": "user", "content": "Hello"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
    },
    {
      id: 'openai-js',
      name: 'OpenAI JavaScript',
      note: 'npm install openai',
      language: 'javascript',
      text: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${json(base)}, apiKey: ${json(key)} });
const stream = await client.chat.completions.create({
  model: ${json(model)},
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
});
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
}`,
    },
    {
      id: 'anthropic',
      name: 'Anthropic SDK',
      note: 'pip install anthropic',
      language: 'python',
      text: `from anthropic import Anthropic

client = Anthropic(base_url=${json(address)}, api_key=${json(key)})
message = client.messages.create(
    model=${json(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print("".join(block.text for block in message.content if block.type == "text"))`,
    },
    {
      id: 'open-webui',
      name: 'Open WebUI',
      note: 'Then open http://localhost:3000. With an installation of your own: Admin settings, Connections, OpenAI API.',
      language: 'bash',
      text: `docker run -d --network host -e PORT=3000 \\
  -e OPENAI_API_BASE_URL=${quoted(base)} \\
  -e OPENAI_API_KEY=${quoted(key)} \\
  -v open-webui:/app/backend/data \\
  --name open-webui ghcr.io/open-webui/open-webui:main`,
    },
    {
      id: 'claude-code',
      name: 'Claude Code',
      note: 'Its prompts are long: a context of 32,768 tokens or more is advisable.',
      language: 'bash',
      text: `export ANTHROPIC_BASE_URL=${quoted(address)}
export ANTHROPIC_AUTH_TOKEN=${quoted(key)}
export ANTHROPIC_MODEL=${quoted(model)}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${quoted(model)}
claude`,
    },
    {
      id: 'codex',
      name: 'Codex CLI',
      note: 'If the server needs a key, export it as TERRACE_KEY and add env_key = "TERRACE_KEY" to the provider.',
      file: '~/.codex/config.toml',
      language: 'ini',
      text: `model = ${json(model)}
model_provider = "terrace"
model_context_window = ${context}

[model_providers.terrace]
name = "Terrace"
base_url = ${json(base)}
wire_api = "responses"`,
    },
    {
      id: 'opencode',
      name: 'opencode',
      note: 'Then choose the model with /models.',
      file: 'opencode.json',
      language: 'json',
      text: JSON.stringify(
        {
          $schema: 'https://opencode.ai/config.json',
          provider: {
            terrace: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Terrace',
              options: { baseURL: base, apiKey: key },
              models: { [model]: { name: model } },
            },
          },
        },
        null,
        2,
      ),
    },
    {
      id: 'continue',
      name: 'Continue',
      note: '',
      file: '~/.continue/config.yaml',
      language: 'yaml',
      text: `name: Local
version: 1.0.0
schema: v1
models:
  - name: Terrace
    provider: openai
    model: ${json(model)}
    apiBase: ${json(base)}
    apiKey: ${json(key)}
    roles: [chat, edit, apply]`,
    },
  ];
}
