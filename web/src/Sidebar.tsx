import { useRef, useState } from 'preact/hooks';
import { stopById } from './chats/answering';
import { importChat } from './chats/import';
import { addChat, removeChat, renameChat, summaries } from './chats/session';
import type { Summary } from './chats/store';
import { go, hrefOf, route, type Page } from './router';
import { shortcuts } from './shortcuts';
import { nextTheme, theme } from './theme';
import { Dialog } from './ui/Dialog';
import { Icon, type IconName } from './ui/icons';
import { messageOf, notify } from './ui/notices';
import { drawer } from './ui/PageHead';

export function Sidebar() {
  const [keys, setKeys] = useState(false);
  return (
    <nav id="sidebar" class="sidebar" aria-label="Pages and chats">
      <div class="sidebar-head">
        <span class="brand">
          <img src="./app/icon.svg" alt="" width="22" height="22" />
          Terrace
        </span>
        <button type="button" class="icon-button drawer-close" aria-label="Close the menu" onClick={() => (drawer.value = false)}>
          <Icon name="close" />
        </button>
      </div>
      <div class="sidebar-actions">
        <a class="button primary" href={hrefOf('chat')}>
          <Icon name="plus" />
          New chat
        </a>
        <ImportButton />
      </div>
      <Chats />
      <div class="sidebar-foot">
        <PageLink page="monitor" icon="monitor" name="Monitor" />
        <PageLink page="model" icon="model" name="Model" />
        <div class="sidebar-tools">
          <button type="button" class="text-button" onClick={nextTheme}>
            <Icon name={theme.value} />
            {{ system: 'System theme', light: 'Light theme', dark: 'Dark theme' }[theme.value]}
          </button>
          <button
            type="button"
            class="icon-button"
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts"
            onClick={() => setKeys(true)}
          >
            <Icon name="keys" />
          </button>
        </div>
      </div>
      {keys && (
        <Dialog title="Keyboard shortcuts" onClose={() => setKeys(false)}>
          <dl class="keys">
            {shortcuts.map(([key, does]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </nav>
  );
}

const PageLink = ({ page, icon, name }: { page: Page; icon: IconName; name: string }) => (
  <a class="page-link" href={hrefOf(page)} aria-current={route.value.page === page ? 'page' : undefined}>
    <Icon name={icon} />
    {name}
  </a>
);

function ImportButton() {
  const picker = useRef<HTMLInputElement>(null);
  const read = async () => {
    const file = picker.current!.files?.[0];
    picker.current!.value = '';
    if (!file) return;
    try {
      const chat = importChat(await file.text());
      await addChat(chat);
      go('chat', chat.id);
    } catch (error) {
      notify(`${file.name} cannot be imported. ${messageOf(error)}`, 'error');
    }
  };
  return (
    <>
      <input ref={picker} type="file" accept=".json,application/json" hidden aria-hidden="true" data-import onChange={() => void read()} />
      <button type="button" class="icon-button" aria-label="Import a chat" title="Import a chat" onClick={() => picker.current!.click()}>
        <Icon name="import" />
      </button>
    </>
  );
}

function Chats() {
  const [renaming, setRenaming] = useState<Summary | null>(null);
  const [removing, setRemoving] = useState<Summary | null>(null);
  return (
    <>
      <h2 class="sidebar-label">Chats</h2>
      {summaries.value.length === 0 ? (
        <p class="sidebar-empty">None yet.</p>
      ) : (
        <ul class="chat-list">
          {summaries.value.map((chat) => (
            <li key={chat.id}>
              <a href={hrefOf('chat', chat.id)} aria-current={route.value.chat === chat.id ? 'page' : undefined} title={chat.title}>
                {chat.title}
              </a>
              <button
                type="button"
                class="icon-button"
                aria-label={`Rename ${chat.title}`}
                title="Rename"
                onClick={() => setRenaming(chat)}
              >
                <Icon name="edit" />
              </button>
              <button
                type="button"
                class="icon-button"
                aria-label={`Delete ${chat.title}`}
                title="Delete"
                onClick={() => setRemoving(chat)}
              >
                <Icon name="trash" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {renaming && <RenameDialog chat={renaming} onClose={() => setRenaming(null)} />}
      {removing && <RemoveDialog chat={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

function RenameDialog({ chat, onClose }: { chat: Summary; onClose: () => void }) {
  const [title, setTitle] = useState(chat.title);
  const submit = (event: Event) => {
    event.preventDefault();
    if (title.trim()) void renameChat(chat.id, title.trim());
    onClose();
  };
  return (
    <Dialog title="Rename the chat" onClose={onClose}>
      <form onSubmit={submit}>
        <div class="field">
          <label for="chat-title">Title</label>
          <input id="chat-title" maxLength={200} value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
        </div>
        <div class="row-end">
          <button type="submit" class="button primary" disabled={!title.trim()}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function RemoveDialog({ chat, onClose }: { chat: Summary; onClose: () => void }) {
  const remove = async () => {
    onClose();
    stopById(chat.id);
    if ((await removeChat(chat.id)) && route.value.chat === chat.id) go('chat');
  };
  return (
    <Dialog title="Delete the chat" onClose={onClose}>
      <p>“{chat.title}” and all its branches will be gone for good.</p>
      <div class="row-end">
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="button danger" onClick={() => void remove()}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
