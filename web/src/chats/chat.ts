// A chat: messages as a tree, since edits and new answers are branches beside the old ones.

export interface Attachment {
  name: string;
  text: string;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  result?: string;
}

/// What an answer cost, as the server says.
export interface Figures {
  promptTokens: number; ///< the cached ones included
  cachedTokens: number;
  tokens: number;
  reasoningTokens: number;
  promptRate: number; ///< tokens per second
  rate: number;
}

export interface Message {
  id: string;
  parent: string; ///< '': the first message of a branch
  role: 'user' | 'assistant';
  content: string;
  created: number; ///< milliseconds since 1970
  attachments?: Attachment[];
  reasoning?: string;
  calls?: ToolCall[];
  model?: string;
  /// Of an answer: how it ended; absent while it is being written.
  end?: 'stop' | 'length' | 'tool_calls' | 'stopped' | 'error';
  error?: string;
  figures?: Figures;
}

/// Empty fields leave the choice to the server.
export interface Settings {
  system: string;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  repeat_penalty?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  max_tokens?: number;
  seed?: number;
  reasoning_effort?: string;
  tools: string; ///< JSON: a list of function tools; empty: none
}

export interface Chat {
  format: 'terrace-chat';
  version: 1;
  id: string;
  title: string;
  created: number;
  updated: number;
  settings: Settings;
  messages: Record<string, Message>;
  selected: Record<string, string>; ///< of a parent's branches, the one that is shown
}

export const emptySettings = (): Settings => ({ system: '', tools: '' });

/// crypto.randomUUID() exists only on secure origins, and a server on the local network may be none.
export function makeId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function newChat(settings: Settings): Chat {
  const now = Date.now();
  return {
    format: 'terrace-chat',
    version: 1,
    id: makeId(),
    title: 'New chat',
    created: now,
    updated: now,
    settings,
    messages: {},
    selected: {},
  };
}

/// The messages with this parent, oldest first.
export const branchesOf = (chat: Chat, parent: string): Message[] =>
  Object.values(chat.messages).filter((message) => message.parent === parent);

/// The messages that are shown, from the first to the last.
export function pathOf(chat: Chat): Message[] {
  const branches = new Map<string, Message[]>();
  for (const message of Object.values(chat.messages)) {
    const beside = branches.get(message.parent);
    if (beside) beside.push(message);
    else branches.set(message.parent, [message]);
  }
  const path: Message[] = [];
  for (let parent = ''; branches.has(parent);) {
    const beside = branches.get(parent)!;
    const shown = beside.find((message) => message.id === chat.selected[parent]) ?? beside.at(-1)!;
    branches.delete(parent);
    path.push(shown);
    parent = shown.id;
  }
  return path;
}

/// The messages from the first to this one.
export function pathTo(chat: Chat, id: string): Message[] {
  const path: Message[] = [];
  for (let message = chat.messages[id]; message && !path.includes(message); message = chat.messages[message.parent]) path.unshift(message);
  return path;
}

/// Adds a message and shows its branch.
export function addMessage(chat: Chat, message: Message): Chat {
  return {
    ...chat,
    updated: message.created,
    messages: { ...chat.messages, [message.id]: message },
    selected: { ...chat.selected, [message.parent]: message.id },
  };
}

export const changeMessage = (chat: Chat, id: string, change: Partial<Message>): Chat =>
  chat.messages[id] ? { ...chat, messages: { ...chat.messages, [id]: { ...chat.messages[id], ...change } } } : chat;

const kTitle = 60; // characters

/// The beginning of the first message.
export function titleOf(text: string, attachments: Attachment[] = []): string {
  const line = text.trim().split('\n')[0]!.replace(/\s+/g, ' ') || attachments[0]?.name || 'New chat';
  if (line.length <= kTitle) return line;
  const cut = line.slice(0, kTitle);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), kTitle / 2))}…`;
}
