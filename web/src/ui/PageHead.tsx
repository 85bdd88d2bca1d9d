import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { status } from '../api/status';
import { hrefOf } from '../router';
import { Icon } from './icons';

/// Whether the list of chats is open, on a phone.
export const drawer = signal(false);

export const PageHead = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <header class="page-head">
    <button
      type="button"
      class="icon-button on-phone"
      aria-label="Menu"
      aria-expanded={drawer.value}
      aria-controls="sidebar"
      onClick={() => (drawer.value = true)}
    >
      <Icon name="menu" />
    </button>
    <h1>{title}</h1>
    <span class="page-model">{status.value?.model.id}</span>
    {children}
    <a class="icon-button on-phone" href={hrefOf('chat')} aria-label="New chat">
      <Icon name="plus" />
    </a>
  </header>
);
