// Asking the server for an answer and writing it into its chat, whichever chat is on the screen.
import { signal } from '@preact/signals';
import { streamCompletion, type Listener, type Progress } from '../api/completion';
import { status } from '../api/status';
import { messageOf } from '../ui/notices';
import { addMessage, changeMessage, makeId, pathOf, pathTo, titleOf, type Attachment, type Message, type ToolCall } from './chat';
import { requestBody } from './prompt';
import { save, type ChatRef } from './session';

export interface Running {
  message: string;
  controller: AbortController;
  progress: Progress | null;
}

export const running = signal<ReadonlyMap<ChatRef, Running>>(new Map());
/// What a screen reader is told: that an answer begins and ends, not each of its words.
export const spoken = signal('');

const kPaint = 50; // milliseconds between two changes of the page while an answer streams
const kSave = 5000; // and between two saves

export function send(chat: ChatRef, content: string, attachments: Attachment[]) {
  addUserMessage(chat, pathOf(chat.value).at(-1)?.id ?? '', content, attachments);
}

/// Another branch beside the message, with this text.
export function editMessage(chat: ChatRef, message: Message, content: string) {
  addUserMessage(chat, message.parent, content, message.attachments ?? []);
}

function addUserMessage(chat: ChatRef, parent: string, content: string, attachments: Attachment[]) {
  if (running.value.has(chat)) return;
  const message: Message = { id: makeId(), parent, role: 'user', content, created: Date.now() };
  if (attachments.length > 0) message.attachments = attachments;
  const first = Object.keys(chat.value.messages).length === 0 && chat.value.title === 'New chat';
  const title = first ? titleOf(content, attachments) : chat.value.title;
  chat.value = { ...addMessage(chat.value, message), title };
  void save(chat);
  void answer(chat, message.id);
}

/// Another answer to the same message.
export const regenerate = (chat: ChatRef, message: Message) => void answer(chat, message.parent);

/// Goes on where an answer ended before its end.
export const continueAnswer = (chat: ChatRef, message: Message) => void answer(chat, message.parent, message);

export function sendResults(chat: ChatRef, message: Message, results: string[]) {
  const calls = (message.calls ?? []).map((call, i) => ({ ...call, result: results[i] ?? '' }));
  chat.value = changeMessage(chat.value, message.id, { calls });
  void answer(chat, message.id);
}

export const stop = (chat: ChatRef) => running.value.get(chat)?.controller.abort();
export function stopById(id: string) {
  for (const chat of running.value.keys()) if (chat.value.id === id) stop(chat);
}

/// Gathers a stream's pieces and shows them from time to time: a change for each token would cost more than the token.
class Gathered {
  content: string;
  reasoning: string;
  calls: ToolCall[] = [];
  timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    from: Message,
    private show: () => void,
  ) {
    this.content = from.content;
    this.reasoning = from.reasoning ?? '';
  }
  changed() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.show();
    }, kPaint);
  }
  addCall(index: number, part: { id?: string; name?: string; arguments?: string }) {
    const call = this.calls[index] ?? { id: '', name: '', arguments: '' };
    this.calls[index] = {
      id: call.id || (part.id ?? ''),
      name: call.name + (part.name ?? ''),
      arguments: call.arguments + (part.arguments ?? ''),
    };
  }
  end() {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }
  fields(): Partial<Message> {
    return {
      content: this.content,
      ...(this.reasoning ? { reasoning: this.reasoning } : {}),
      ...(this.calls.length > 0 ? { calls: this.calls.filter(Boolean) } : {}),
    };
  }
}

function listen(gathered: Gathered, outcome: Partial<Message>, progress: Listener['progress']): Listener {
  return {
    progress,
    content(text) {
      gathered.content += text;
      gathered.changed();
    },
    reasoning(text) {
      gathered.reasoning += text;
      gathered.changed();
    },
    call(index, part) {
      gathered.addCall(index, part);
      gathered.changed();
    },
    finish(reason) {
      outcome.end = reason === 'length' || reason === 'tool_calls' ? reason : 'stop';
    },
    timings(timings, reasoningTokens) {
      outcome.figures = {
        promptTokens: timings.cache_n + timings.prompt_n,
        cachedTokens: timings.cache_n,
        tokens: timings.predicted_n,
        reasoningTokens,
        promptRate: timings.prompt_per_second,
        rate: timings.predicted_per_second,
      };
    },
  };
}

async function answer(chat: ChatRef, parent: string, continued?: Message) {
  if (running.value.has(chat)) return;
  const message: Message = continued
    ? { ...continued, end: undefined, error: undefined }
    : { id: makeId(), parent, role: 'assistant', content: '', created: Date.now(), model: status.value?.model.id };
  chat.value = addMessage(chat.value, message);
  const controller = new AbortController();
  const run = (progress: Progress | null) => setRunning(chat, { message: message.id, controller, progress });
  run(null);
  spoken.value = 'The answer is being written.';

  const update = (fields: Partial<Message>) => (chat.value = changeMessage(chat.value, message.id, fields));
  const gathered = new Gathered(message, () => update(gathered.fields()));
  const saver = setInterval(() => void save(chat), kSave);
  const outcome: Partial<Message> = { end: 'stop' };
  try {
    const path = pathTo(chat.value, continued ? message.id : parent);
    const body = requestBody(path, chat.value.settings);
    await streamCompletion(body, listen(gathered, outcome, run), controller.signal);
  } catch (problem) {
    outcome.end = controller.signal.aborted ? 'stopped' : 'error';
    if (outcome.end === 'error') outcome.error = messageOf(problem);
  }
  gathered.end();
  clearInterval(saver);
  update({ ...gathered.fields(), ...outcome });
  setRunning(chat, null);
  spoken.value = summaryOf(outcome);
  await save(chat);
}

function summaryOf({ end, error }: Partial<Message>): string {
  if (end === 'error') return `The answer failed. ${error}`;
  return end === 'stopped' ? 'The answer was stopped.' : 'The answer is complete.';
}

function setRunning(chat: ChatRef, state: Running | null) {
  const next = new Map(running.value);
  if (state) next.set(chat, state);
  else next.delete(chat);
  running.value = next;
}
