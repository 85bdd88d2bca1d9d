// Short messages at the foot of the page, which screen readers read out.
import { signal } from '@preact/signals';

export interface Notice {
  text: string;
  kind: 'info' | 'error';
}

export const notices = signal<(Notice & { id: number })[]>([]);
let last = 0;

export function notify(text: string, kind: Notice['kind'] = 'info') {
  const id = ++last;
  notices.value = [...notices.value.slice(-2), { id, text, kind }];
  setTimeout(() => dismiss(id), kind === 'error' ? 12_000 : 4000);
}
export const dismiss = (id: number) => (notices.value = notices.value.filter((notice) => notice.id !== id));

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
