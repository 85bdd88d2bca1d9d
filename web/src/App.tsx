import { useEffect } from 'preact/hooks';
import { keyWanted } from './api/client';
import { loadServer, status } from './api/status';
import { spoken } from './chats/answering';
import { loadSummaries } from './chats/session';
import { ChatPage } from './chat/ChatPage';
import { MonitorPage } from './monitor/MonitorPage';
import { ModelPage } from './model/ModelPage';
import { route, type Page } from './router';
import { KeyDialog } from './KeyDialog';
import { Sidebar } from './Sidebar';
import { useShortcuts } from './shortcuts';
import { Icon } from './ui/icons';
import { dismiss, messageOf, notices, notify } from './ui/notices';
import { drawer } from './ui/PageHead';

const pages: Record<Page, () => preact.JSX.Element> = { chat: ChatPage, monitor: MonitorPage, model: ModelPage };

function closeDrawer() {
  drawer.value = false;
}

function connect() {
  void loadSummaries();
  loadServer().catch((error) => {
    if (!keyWanted.value) notify(messageOf(error), 'error');
  });
}

export function App() {
  useEffect(connect, []);
  useEffect(closeDrawer, [route.value]);
  useShortcuts(closeDrawer);
  const Current = pages[route.value.page];
  return (
    <div class={drawer.value ? 'app drawer-open' : 'app'}>
      <a class="skip" href="#main" onClick={skip}>
        To the content
      </a>
      <Sidebar />
      <div class="shade" onClick={closeDrawer} />
      <main id="main" tabIndex={-1}>
        <Current />
      </main>
      <div class="unseen" role="status" aria-live="polite">
        {spoken.value}
      </div>
      <Notices />
      {keyWanted.value && <KeyDialog reason={keyWanted.value} onKey={connect} />}
      {!status.value && <span class="unseen">Connecting to the server.</span>}
    </div>
  );
}

function skip(event: Event) {
  event.preventDefault(); // the part after the # is the app's own
  document.getElementById('main')!.focus();
}

const Notices = () => (
  <ul class="notices" role="log" aria-live="polite">
    {notices.value.map((notice) => (
      <li key={notice.id} class={notice.kind}>
        <span>{notice.text}</span>
        <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
          <Icon name="close" />
        </button>
      </li>
    ))}
  </ul>
);
