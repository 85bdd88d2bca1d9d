// Where chats are kept: on the server if it has a store, else in the browser.
import { ApiError, getJson, request } from '../api/client';
import type { Chat } from './chat';
import { checkChat } from './import';

export interface Summary {
  id: string;
  title: string;
  updated: number; ///< milliseconds since 1970
}

/// Somebody else (another tab or browser) has changed the chat since it was read.
export class Conflict extends Error {}

/// All methods throw errors whose message is a sentence. A revision counts a chat's changes; 0: it is new.
export interface ChatStore {
  readonly place: 'server' | 'browser';
  list(): Promise<Summary[]>;
  load(id: string): Promise<{ chat: Chat; revision: number }>;
  /// Returns the new revision.
  save(chat: Chat, revision: number): Promise<number>;
  remove(id: string): Promise<void>;
}

export async function openStore(): Promise<ChatStore> {
  try {
    const { enabled } = await getJson<{ enabled: boolean }>('app/chats');
    return enabled ? new ServerStore() : new BrowserStore();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return new BrowserStore();
    throw error;
  }
}

class ServerStore implements ChatStore {
  readonly place = 'server';

  async list() {
    return (await getJson<{ chats: Summary[] }>('app/chats')).chats;
  }
  async load(id: string) {
    const { chat, revision } = await getJson<{ chat: unknown; revision: number }>(path(id));
    return { chat: checkChat(chat), revision };
  }
  async save(chat: Chat, revision: number) {
    try {
      const body = JSON.stringify({ revision, chat });
      return (await getJson<{ revision: number }>(path(chat.id), { method: 'PUT', body })).revision;
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) throw new Conflict(error.message);
      throw error;
    }
  }
  async remove(id: string) {
    await request(path(id), { method: 'DELETE' });
  }
}

const path = (id: string) => `app/chats/${encodeURIComponent(id)}`;

const kPrefix = 'terrace.chat.';

class BrowserStore implements ChatStore {
  readonly place = 'browser';

  async list() {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(kPrefix));
    return keys
      .map((key) => this.read(key))
      .filter((entry) => entry !== null)
      .map(({ chat: { id, title, updated } }) => ({ id, title, updated }))
      .sort((a, b) => b.updated - a.updated);
  }
  async load(id: string) {
    const entry = this.read(kPrefix + id);
    if (!entry) throw new Error('This chat is not kept in this browser. It may have been deleted, or the link is from another one.');
    return { chat: checkChat(entry.chat), revision: entry.revision };
  }
  async save(chat: Chat, revision: number) {
    const entry = this.read(kPrefix + chat.id);
    if ((entry?.revision ?? 0) !== revision) throw new Conflict('Another tab has changed this chat.');
    try {
      localStorage.setItem(kPrefix + chat.id, JSON.stringify({ revision: revision + 1, chat }));
    } catch {
      throw new Error("The chat could not be saved: the browser's storage is full. Delete or export some chats.");
    }
    return revision + 1;
  }
  async remove(id: string) {
    localStorage.removeItem(kPrefix + id);
  }

  private read(key: string): { revision: number; chat: Chat } | null {
    try {
      return JSON.parse(localStorage.getItem(key) ?? 'null');
    } catch {
      return null; // written by something else
    }
  }
}
