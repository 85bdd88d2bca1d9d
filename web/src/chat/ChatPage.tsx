import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { pathOf } from '../chats/chat';
import { exportChat } from '../chats/import';
import { continueAnswer, editMessage, regenerate, running, send, sendResults, stop } from '../chats/answering';
import { openChat, save, startChat, storePlace, type ChatRef } from '../chats/session';
import { status } from '../api/status';
import { replace, route } from '../router';
import { Icon } from '../ui/icons';
import { messageOf } from '../ui/notices';
import { PageHead } from '../ui/PageHead';
import { Composer } from './Composer';
import { MessageView, type Actions } from './MessageView';
import { SettingsSheet } from './SettingsSheet';

/// The chat of the address, or a new one.
export function ChatPage() {
  const asked = route.value.chat;
  const [chat, setChat] = useState<ChatRef | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (chat && asked && chat.value.id === asked) return;
    setProblem('');
    if (!asked) return setChat(startChat());
    let current = true;
    setChat(null);
    openChat(asked).then(
      (found) => current && setChat(found),
      (error) => current && setProblem(messageOf(error)),
    );
    return () => {
      current = false;
    };
  }, [asked, route.value]);
  if (problem) return <Problem text={problem} />;
  return chat ? <Conversation key={chat} chat={chat} /> : <p class="page-note">Opening the chat…</p>;
}

const Problem = ({ text }: { text: string }) => (
  <div class="page-note">
    <p role="alert">{text}</p>
    <a class="button" href="#/chat">
      New chat
    </a>
  </div>
);

function Conversation({ chat }: { chat: ChatRef }) {
  const [settingsOpen, setSettingsOpen] = useState(false);
  const path = pathOf(chat.value);
  const run = running.value.get(chat);

  // The address follows the chat: it has one once it has a message, and another when it goes on as a copy.
  useSignalEffect(() => {
    const { id, messages } = chat.value;
    if (Object.keys(messages).length > 0 && route.peek().page === 'chat' && route.peek().chat !== id) replace('chat', id);
  });
  useEffect(() => {
    document.title = `${chat.value.title} - Terrace`;
  }, [chat.value.title]);

  const actions: Actions = {
    edit: (message, text) => editMessage(chat, message, text),
    regenerate: (message) => regenerate(chat, message),
    goOn: (message) => continueAnswer(chat, message),
    results: (message, results) => sendResults(chat, message, results),
    select(message) {
      chat.value = { ...chat.value, selected: { ...chat.value.selected, [message.parent]: message.id } };
      void save(chat);
    },
  };
  return (
    <>
      <PageHead title={path.length > 0 ? chat.value.title : 'New chat'}>
        {path.length > 0 && (
          <button
            type="button"
            class="icon-button"
            aria-label="Export this chat"
            title="Export this chat"
            onClick={() => exportChat(chat.value)}
          >
            <Icon name="export" />
          </button>
        )}
        <button
          type="button"
          class="icon-button"
          aria-label="Settings of this chat"
          title="Settings of this chat"
          onClick={() => setSettingsOpen(true)}
        >
          <Icon name="settings" />
        </button>
      </PageHead>
      <Scroller watch={path}>
        {path.length === 0 && <Welcome />}
        <ol class="messages">
          {path.map((message) => (
            <MessageView
              key={message.id}
              message={message}
              branches={Object.values(chat.value.messages).filter((other) => other.parent === message.parent)}
              run={run?.message === message.id ? run : undefined}
              busy={Boolean(run)}
              last={message === path.at(-1)}
              actions={actions}
            />
          ))}
        </ol>
      </Scroller>
      <Composer busy={Boolean(run)} onSend={(text, files) => send(chat, text, files)} onStop={() => stop(chat)} />
      {settingsOpen && <SettingsSheet chat={chat} onClose={() => setSettingsOpen(false)} />}
    </>
  );
}

function Welcome() {
  const model = status.value?.model;
  return (
    <div class="welcome">
      <p class="welcome-title">{model ? model.meta?.name || model.id : 'Connecting…'}</p>
      {model?.meta && (
        <p>
          {model.meta.n_ctx.toLocaleString('en')} tokens of context, {status.value!.threads} threads, {status.value!.instruction_set}
        </p>
      )}
      {storePlace.value && (
        <p>
          {storePlace.value === 'server' ? 'Chats are kept on the server.' : 'Chats are kept in this browser.'} Text files that you drop
          here become part of your message.
        </p>
      )}
    </div>
  );
}

const kNear = 60; // pixels from the end that count as the end

/// Stays at the end while an answer grows, unless the reader has scrolled away.
function Scroller({ watch, children }: { watch: { length: number }; children: preact.ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const count = useRef(0);
  const following = useSignal(true);
  const toEnd = () => {
    box.current!.scrollTop = box.current!.scrollHeight;
    following.value = true;
  };
  useLayoutEffect(() => {
    if (following.peek() || watch.length > count.current) toEnd();
    count.current = watch.length;
  }, [watch]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    following.value = scrollHeight - scrollTop - clientHeight < kNear;
  };
  return (
    <div class="scroller-frame">
      <div class="scroller" ref={box} onScroll={scrolled} tabIndex={-1}>
        {children}
      </div>
      {!following.value && (
        <button type="button" class="to-end icon-button" aria-label="To the end" onClick={toEnd}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}
