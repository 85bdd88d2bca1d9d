// Chats as files. What comes in is checked: it may have been written by anybody.
import { emptySettings, makeId, type Chat, type Message, type Settings } from './chat';

const kLimit = 4 << 20; // what the server's store takes

export function exportChat(chat: Chat) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(chat, null, 2)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${
    chat.title
      .replace(/[^\p{L}\p{N} _-]+/gu, '')
      .trim()
      .slice(0, 60) || 'chat'
  }.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/// A chat under a new id, or an error whose message is a sentence.
export function importChat(text: string): Chat {
  if (text.length > kLimit) throw new Error('The file is larger than a chat may be (4 MiB).');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error('The file is no JSON.');
  }
  const chat = checkChat(json);
  return { ...chat, id: makeId(), updated: Date.now() };
}

/// A chat with all its fields, from a file or a store; throws an error with a sentence.
export function checkChat(json: unknown): Chat {
  const given = object(json, 'The chat');
  if (given.format !== 'terrace-chat') throw new Error('The file is no chat that was exported from Terrace.');
  if (given.version !== 1) throw new Error(`The chat has the version ${String(given.version)}; this app reads version 1.`);
  const messages: Record<string, Message> = {};
  for (const [id, message] of Object.entries(object(given.messages, 'messages'))) messages[id] = checkMessage(id, message);
  for (const message of Object.values(messages)) {
    if (message.parent && !messages[message.parent]) throw new Error(`The message ${message.id} answers one that is not there.`);
  }
  const selected: Record<string, string> = {};
  for (const [parent, id] of Object.entries(object(given.selected ?? {}, 'selected'))) selected[parent] = text(id, 'selected');
  return {
    format: 'terrace-chat',
    version: 1,
    id: text(given.id, 'id'),
    title: text(given.title, 'title').slice(0, 200),
    created: number(given.created, 'created'),
    updated: number(given.updated, 'updated'),
    settings: checkSettings(object(given.settings ?? {}, 'settings')),
    messages,
    selected,
  };
}

function checkMessage(id: string, json: unknown): Message {
  const given = object(json, `messages.${id}`);
  const at = (field: string) => `messages.${id}.${field}`;
  if (given.role !== 'user' && given.role !== 'assistant') throw new Error(`${at('role')} must be user or assistant.`);
  const message: Message = {
    id,
    parent: text(given.parent, at('parent')),
    role: given.role,
    content: text(given.content, at('content')),
    created: number(given.created, at('created')),
  };
  if (given.reasoning !== undefined) message.reasoning = text(given.reasoning, at('reasoning'));
  if (given.model !== undefined) message.model = text(given.model, at('model'));
  if (given.error !== undefined) message.error = text(given.error, at('error'));
  if (given.attachments !== undefined) {
    message.attachments = list(given.attachments, at('attachments')).map((entry) => {
      const file = object(entry, at('attachments'));
      return { name: text(file.name, at('attachments.name')), text: text(file.text, at('attachments.text')) };
    });
  }
  if (given.calls !== undefined) {
    message.calls = list(given.calls, at('calls')).map((entry) => {
      const call = object(entry, at('calls'));
      return {
        id: text(call.id, at('calls.id')),
        name: text(call.name, at('calls.name')),
        arguments: text(call.arguments, at('calls.arguments')),
        ...(call.result === undefined ? {} : { result: text(call.result, at('calls.result')) }),
      };
    });
  }
  if (given.figures !== undefined) {
    const figures = object(given.figures, at('figures'));
    const figure = (name: string) => number(figures[name], at(`figures.${name}`));
    message.figures = {
      promptTokens: figure('promptTokens'),
      cachedTokens: figure('cachedTokens'),
      tokens: figure('tokens'),
      reasoningTokens: figure('reasoningTokens'),
      promptRate: figure('promptRate'),
      rate: figure('rate'),
    };
  }
  // An answer that was being written when the chat was saved has no end.
  const ends = ['stop', 'length', 'tool_calls', 'stopped', 'error'] as const;
  if (message.role === 'assistant') message.end = ends.find((end) => end === given.end) ?? 'stopped';
  return message;
}

function checkSettings(given: Record<string, unknown>): Settings {
  const settings: Settings = { ...emptySettings() };
  for (const name of ['system', 'tools', 'reasoning_effort'] as const) {
    if (given[name] !== undefined) settings[name] = text(given[name], `settings.${name}`);
  }
  const numbers = [
    'temperature',
    'top_p',
    'top_k',
    'min_p',
    'repeat_penalty',
    'presence_penalty',
    'frequency_penalty',
    'max_tokens',
    'seed',
  ] as const;
  for (const name of numbers) {
    if (given[name] !== undefined) settings[name] = number(given[name], `settings.${name}`);
  }
  return settings;
}

function object(json: unknown, name: string): Record<string, unknown> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Error(`${name} must be an object.`);
  return json as Record<string, unknown>;
}
function list(json: unknown, name: string): unknown[] {
  if (!Array.isArray(json)) throw new Error(`${name} must be a list.`);
  return json;
}
function text(json: unknown, name: string): string {
  if (typeof json !== 'string') throw new Error(`${name} must be a text.`);
  return json;
}
function number(json: unknown, name: string): number {
  if (typeof json !== 'number') throw new Error(`${name} must be a number.`);
  return json;
}
