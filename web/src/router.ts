// The page's address: #/chat, #/chat/ID, #/monitor, #/model. After the #, so that the server has one page to send.
import { signal } from '@preact/signals';

export type Page = 'chat' | 'monitor' | 'model';
export interface Route {
  page: Page;
  chat: string; ///< '': a new one
}

function read(): Route {
  const [page, id] = location.hash.replace(/^#\/?/, '').split('/');
  if (page === 'monitor' || page === 'model') return { page, chat: '' };
  return { page: 'chat', chat: (page === 'chat' && id) || '' };
}

export const route = signal<Route>(read());
addEventListener('hashchange', () => (route.value = read()));

export const hrefOf = (page: Page, chat = '') => `#/${page}${chat ? `/${chat}` : ''}`;
export function go(page: Page, chat = '') {
  location.hash = hrefOf(page, chat);
}
/// The same place under another address: no step for the Back button.
export function replace(page: Page, chat: string) {
  history.replaceState(null, '', hrefOf(page, chat));
  route.value = read();
}
