import { useEffect } from 'preact/hooks';
import { stopById } from './chats/answering';
import { go, route } from './router';

export const shortcuts: [keys: string, does: string][] = [
  ['Enter', 'Send the message'],
  ['Shift + Enter', 'A new line'],
  ['Esc', 'Stop the answer; close a dialog'],
  ['Ctrl + K', 'New chat'],
  ['/', 'Go to the message field'],
];

/// The keys that work anywhere on the page. `onEscape` closes the drawer.
export function useShortcuts(onEscape: () => void) {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !document.querySelector('dialog[open]')) {
        stopById(route.value.chat);
        onEscape();
      } else if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
        event.preventDefault();
        go('chat');
        document.getElementById('composer-text')?.focus();
      } else if (event.key === '/' && event.target === document.body) {
        event.preventDefault();
        document.getElementById('composer-text')?.focus();
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}
