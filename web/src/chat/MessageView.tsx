import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Progress } from '../api/completion';
import type { Running } from '../chats/answering';
import type { Figures, Message } from '../chats/chat';
import { CopyButton } from '../ui/CopyButton';
import { Icon, type IconName } from '../ui/icons';
import { Chips } from './Composer';
import { Markdown } from './Markdown';
import { ToolCalls } from './ToolCalls';

export interface Actions {
  edit: (message: Message, text: string) => void;
  regenerate: (message: Message) => void;
  goOn: (message: Message) => void;
  results: (message: Message, results: string[]) => void;
  select: (message: Message) => void;
}

interface Props {
  message: Message;
  branches: Message[]; ///< the message and those beside it
  run?: Running; ///< while this message is being written
  busy: boolean; ///< while any is
  last: boolean;
  actions: Actions;
}

const same = (a: Props, b: Props) =>
  a.message === b.message && a.run === b.run && a.busy === b.busy && a.last === b.last && a.branches.length === b.branches.length;

export const MessageView = memo((props: Props) => {
  const [editing, setEditing] = useState(false);
  const { message } = props;
  const label = message.role === 'user' ? 'You' : 'Answer';
  return (
    <li class={`message ${message.role}`}>
      <article aria-label={label}>
        {editing ? (
          <Editor
            text={message.content}
            onCancel={() => setEditing(false)}
            onDone={(text) => {
              setEditing(false);
              props.actions.edit(message, text);
            }}
          />
        ) : message.role === 'user' ? (
          <UserMessage message={message} />
        ) : (
          <Answer {...props} />
        )}
      </article>
      {!editing && !props.run && <Footer {...props} onEdit={() => setEditing(true)} />}
    </li>
  );
}, same);

const UserMessage = ({ message }: { message: Message }) => (
  <div class="bubble">
    {message.attachments && <Chips files={message.attachments} />}
    {message.content && <p class="plain">{message.content}</p>}
  </div>
);

function Answer({ message, run, busy, last, actions }: Props) {
  const waiting = run && !message.content && !message.reasoning && !message.calls;
  const thinking = Boolean(run) && !message.content && !message.calls;
  return (
    <>
      {message.reasoning && <Thinking text={message.reasoning} going={thinking} tokens={message.figures?.reasoningTokens} />}
      {message.content && <Markdown text={message.content} />}
      {message.calls && (
        <ToolCalls
          calls={message.calls}
          writing={Boolean(run)}
          onResults={last && !busy && message.end === 'tool_calls' ? (results) => actions.results(message, results) : undefined}
        />
      )}
      {waiting && <Reading progress={run.progress} />}
      {message.end === 'length' && <p class="hint">The answer ended at its limit of tokens.</p>}
      {message.end === 'stopped' && <p class="hint">Stopped.</p>}
      {message.end === 'stop' && !message.content && !message.calls && <p class="hint">The model wrote nothing.</p>}
      {message.error && (
        <div class="failure" role="alert">
          <p>{message.error}</p>
          <button type="button" class="button" disabled={busy} onClick={() => actions.regenerate(message)}>
            Try again
          </button>
        </div>
      )}
    </>
  );
}

const Thinking = ({ text, going, tokens }: { text: string; going: boolean; tokens?: number }) => (
  <details class="thinking">
    <summary>
      <span class={going ? 'going' : ''}>{going ? 'Thinking…' : 'Thought'}</span>
      {tokens ? <span class="hint"> {tokens.toLocaleString('en')} tokens</span> : null}
    </summary>
    <Markdown text={text} />
  </details>
);

function Reading({ progress }: { progress: Progress | null }) {
  if (!progress || progress.processed >= progress.total) return <p class="hint going">Waiting for the first word…</p>;
  const { processed, total, cache } = progress;
  return (
    <div class="reading">
      <progress max={total} value={processed} aria-label="Reading the prompt" />
      <p class="hint">
        Reading the prompt: {processed.toLocaleString('en')} of {total.toLocaleString('en')} tokens
        {cache > 0 ? `, ${cache.toLocaleString('en')} from the cache` : ''}
      </p>
    </div>
  );
}

function Footer({ message, branches, busy, last, actions, onEdit }: Props & { onEdit: () => void }) {
  const answer = message.role === 'assistant';
  const canGoOn = last && message.content && !message.calls && (message.end === 'length' || message.end === 'stopped');
  return (
    <footer class="message-foot">
      <Branches message={message} branches={branches} busy={busy} onSelect={actions.select} />
      {message.content && <CopyButton text={() => message.content} label={answer ? 'Copy the answer' : 'Copy the message'} />}
      {answer ? (
        <Action icon="again" label="Answer again" disabled={busy} onClick={() => actions.regenerate(message)} />
      ) : (
        <Action icon="edit" label="Edit the message" disabled={busy} onClick={onEdit} />
      )}
      {canGoOn && (
        <button type="button" class="text-button" disabled={busy} onClick={() => actions.goOn(message)}>
          Continue
        </button>
      )}
      {message.figures && <FiguresLine figures={message.figures} />}
    </footer>
  );
}

const Action = ({ icon, label, disabled, onClick }: { icon: IconName; label: string; disabled: boolean; onClick: () => void }) => (
  <button type="button" class="icon-button" aria-label={label} title={label} disabled={disabled} onClick={onClick}>
    <Icon name={icon} />
  </button>
);

function Branches({
  message,
  branches,
  busy,
  onSelect,
}: {
  message: Message;
  branches: Message[];
  busy: boolean;
  onSelect: (message: Message) => void;
}) {
  if (branches.length < 2) return null;
  const index = branches.findIndex((branch) => branch.id === message.id);
  const step = (to: number, label: string, icon: IconName) => (
    <Action icon={icon} label={label} disabled={busy || !branches[to]} onClick={() => onSelect(branches[to]!)} />
  );
  return (
    <span class="branches" role="group" aria-label="Versions">
      {step(index - 1, 'Version before', 'left')}
      <span aria-label={`Version ${index + 1} of ${branches.length}`}>
        {index + 1}/{branches.length}
      </span>
      {step(index + 1, 'Next version', 'right')}
    </span>
  );
}

function FiguresLine({ figures }: { figures: Figures }) {
  const count = (value: number) => value.toLocaleString('en');
  const rate = (value: number) => value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
  const cached = figures.cachedTokens > 0 ? ` (${count(figures.cachedTokens)} cached)` : '';
  const detail = `Prompt: ${count(figures.promptTokens)} tokens${cached}, read at ${rate(figures.promptRate)} tokens/s`;
  return (
    <span class="figures" title={detail}>
      {count(figures.tokens)} tokens · {rate(figures.rate)} tokens/s
      <span class="figures-more">
        {' '}
        · prompt {count(figures.promptTokens)}
        {cached}
      </span>
    </span>
  );
}

function Editor({ text, onDone, onCancel }: { text: string; onDone: (text: string) => void; onCancel: () => void }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [value, setValue] = useState(text);
  useEffect(() => {
    area.current!.focus();
    area.current!.setSelectionRange(text.length, text.length);
  }, []);
  const submit = () => value.trim() && onDone(value.trim());
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      onCancel();
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  };
  return (
    <div class="editor">
      <textarea
        ref={area}
        aria-label="Edit the message"
        rows={Math.min(12, value.split('\n').length + 1)}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
        onKeyDown={pressed}
      />
      <div class="row-end">
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="button" class="button primary" disabled={!value.trim()} onClick={submit}>
          Send
        </button>
      </div>
    </div>
  );
}
