import { useState } from 'preact/hooks';
import { keyWanted, setApiKey } from './api/client';
import { Dialog } from './ui/Dialog';

/// The key is kept until the tab is closed.
export function KeyDialog({ reason, onKey }: { reason: string; onKey: () => void }) {
  const [key, setKey] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (!key.trim()) return;
    setApiKey(key.trim());
    onKey();
  };
  return (
    <Dialog title="API key" onClose={() => (keyWanted.value = '')}>
      <form onSubmit={submit}>
        <div class="field">
          <label for="api-key">{reason}</label>
          <input id="api-key" type="password" autocomplete="off" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
          <p class="hint">It stays in this tab and is forgotten when the tab is closed.</p>
        </div>
        <div class="row-end">
          <button type="submit" class="button primary" disabled={!key.trim()}>
            Use this key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
