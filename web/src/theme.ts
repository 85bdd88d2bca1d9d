// Light, dark, or as the system has it.
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const kTheme = 'terrace.theme';
const kOrder: Theme[] = ['system', 'light', 'dark'];

const kept = localStorage.getItem(kTheme);
export const theme = signal<Theme>(kOrder.find((name) => name === kept) ?? 'system');

theme.subscribe((name) => {
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
});

export function nextTheme() {
  theme.value = kOrder[(kOrder.indexOf(theme.value) + 1) % kOrder.length]!;
  localStorage.setItem(kTheme, theme.value);
}
