// The chats of this page: which are loaded, and how they are saved.
import { signal, type Signal } from '@preact/signals';
import { ApiError } from '../api/client';
import { messageOf, notify } from '../ui/notices';
import { makeId, newChat, type Chat, type Settings } from './chat';
import { Conflict, openStore, type ChatStore, type Summary } from './store';

/// A chat that is loaded. Its id may change: see saveCopy.
export type ChatRef = Signal<Chat>;

interface Open {
  chat: ChatRef;
  revision: number;
  saving: Promise<void>; ///< ends when all saves so far have
}

const kSettings = 'terrace.settings';
const open = new Map<string, Open>();
let opened: Promise<ChatStore> | null = null;

export const summaries = signal<Summary[]>([]);
export const storePlace = signal<ChatStore['place'] | null>(null);

async function store(): Promise<ChatStore> {
  opened ??= openStore();
  try {
    const found = await opened;
    storePlace.value = found.place;
    return found;
  } catch (error) {
    opened = null; // the next call tries again
    throw error;
  }
}

export async function loadSummaries(): Promise<void> {
  try {
    summaries.value = await (await store()).list();
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) notify(`The list of chats could not be read. ${messageOf(error)}`, 'error');
  }
}

/// The chat, from the store if need be.
export async function openChat(id: string): Promise<ChatRef> {
  const found = open.get(id);
  if (found) return found.chat;
  const { chat, revision } = await (await store()).load(id);
  return open.get(id)?.chat ?? keep(chat, revision);
}

function keep(chat: Chat, revision: number): ChatRef {
  const entry: Open = { chat: signal(chat), revision, saving: Promise.resolve() };
  open.set(chat.id, entry);
  return entry.chat;
}

/// It is saved with its first message.
export const startChat = (): ChatRef => keep(newChat(lastSettings()), 0);

/// Saves one after another, so that each knows the revision that the one before it has made.
export function save(chat: ChatRef): Promise<void> {
  const entry = open.get(chat.value.id);
  if (!entry) return Promise.resolve(); // deleted meanwhile
  entry.saving = entry.saving.then(() => saveNow(entry));
  return entry.saving;
}

async function saveNow(entry: Open) {
  const chat = entry.chat.value;
  if (open.get(chat.id) !== entry) return;
  try {
    entry.revision = await (await store()).save(chat, entry.revision);
    const others = summaries.value.filter((summary) => summary.id !== chat.id);
    const own = { id: chat.id, title: chat.title, updated: chat.updated };
    summaries.value = [...others, own].sort((a, b) => b.updated - a.updated);
  } catch (error) {
    if (error instanceof Conflict) return saveCopy(entry);
    notify(messageOf(error), 'error');
  }
}

/// Neither version of a chat that two have changed is lost: the other keeps the id.
async function saveCopy(entry: Open) {
  const old = entry.chat.value;
  open.delete(old.id);
  entry.chat.value = { ...old, id: makeId(), title: `${old.title} (copy)` };
  entry.revision = 0;
  open.set(entry.chat.value.id, entry);
  notify('Another tab or browser has changed this chat. Your version goes on as a copy.');
  await saveNow(entry);
  await loadSummaries();
}

export async function addChat(chat: Chat): Promise<void> {
  await save(keep(chat, 0));
}

export async function renameChat(id: string, title: string): Promise<void> {
  try {
    const chat = await openChat(id);
    chat.value = { ...chat.value, title };
    await save(chat);
  } catch (error) {
    notify(messageOf(error), 'error');
  }
}

export async function removeChat(id: string): Promise<boolean> {
  const entry = open.get(id);
  open.delete(id); // no save that is under way may bring it back
  try {
    await entry?.saving;
    await (await store()).remove(id);
    summaries.value = summaries.value.filter((summary) => summary.id !== id);
    return true;
  } catch (error) {
    if (entry) open.set(id, entry);
    notify(messageOf(error), 'error');
    return false;
  }
}

/// New chats begin with the settings that were used last.
function lastSettings(): Settings {
  const none: Settings = { system: '', tools: '' };
  try {
    return { ...none, ...JSON.parse(localStorage.getItem(kSettings) ?? '{}') };
  } catch {
    return none;
  }
}

export function changeSettings(chat: ChatRef, settings: Settings) {
  chat.value = { ...chat.value, settings };
  try {
    localStorage.setItem(kSettings, JSON.stringify(settings));
  } catch {
    // Full or forbidden: the chat itself has them.
  }
  if (Object.keys(chat.value.messages).length > 0) void save(chat);
}
