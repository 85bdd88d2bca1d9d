// Requests to the server that the page came from, with the key if it wants one.
import { signal } from '@preact/signals';

const kKey = 'terrace.key';

/// Set when the server has refused a request for want of a key.
export const keyWanted = signal('');

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly body: unknown = null,
  ) {
    super(message);
  }
}

/// The key lives as long as the tab.
export const apiKey = () => sessionStorage.getItem(kKey) ?? '';
export function setApiKey(key: string) {
  sessionStorage.setItem(kKey, key);
  keyWanted.value = '';
}

/// `path` is relative to the page, so that the app works below any path of a proxy.
export const addressOf = (path: string) => new URL(path, document.baseURI).href;

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (apiKey()) headers.set('Authorization', `Bearer ${apiKey()}`);
  if (init.body) headers.set('Content-Type', 'application/json');
  let response: Response;
  try {
    response = await fetch(addressOf(path), { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError('The server does not answer. It may have stopped, or the connection is gone.', 0);
  }
  if (response.ok) return response;
  const refusal = await refusalOf(response);
  if (response.status === 401) keyWanted.value = apiKey() ? 'The server does not know this key.' : 'This server needs a key.';
  throw refusal;
}

export async function getJson<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await request(path, init);
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError(`The server's answer at ${path} is no JSON; is this a Terrace server?`, response.status);
  }
}

async function refusalOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  try {
    const body = JSON.parse(text);
    if (typeof body?.error?.message === 'string') return new ApiError(sentence(body.error.message), response.status, body);
  } catch {
    // Not from the server itself, but from a proxy, say.
  }
  return new ApiError(`The server answered with status ${response.status}${text ? `: ${text.slice(0, 200)}` : '.'}`, response.status);
}

/// The server's messages begin in lower case, as parts of longer ones.
export function sentence(message: string): string {
  const begun = /^[a-z]+(?=[ ,;])/.test(message) ? message[0]!.toUpperCase() + message.slice(1) : message;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
