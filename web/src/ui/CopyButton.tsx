import { useRef } from 'preact/hooks';
import { notify } from './notices';
import { Icon } from './icons';

/// Copies, and says so on the button for a moment.
export async function copyText(text: string, button: HTMLButtonElement): Promise<void> {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyBySelection(text);
  } catch {
    return notify('The browser does not let this page copy. Select the text and press Ctrl+C.', 'error');
  }
  button.dataset.copied = 'true';
  setTimeout(() => delete button.dataset.copied, 1500);
  notify('Copied.');
}

/// Pages on plain HTTP from another machine have no clipboard.
function copyBySelection(text: string) {
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('refused');
}

export function CopyButton({ text, label = 'Copy' }: { text: () => string; label?: string }) {
  const button = useRef<HTMLButtonElement>(null);
  return (
    <button
      ref={button}
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      onClick={() => void copyText(text(), button.current!)}
    >
      <Icon name="copy" />
    </button>
  );
}
