// The last five minutes, from differences between the server's totals.
import { signal } from '@preact/signals';
import { getStatus, status, type Status } from '../api/status';
import { ApiError } from '../api/client';
import { messageOf } from '../ui/notices';

export interface Sample {
  time: number; ///< milliseconds since 1970
  reading: number; ///< tokens of prompts per second
  writing: number; ///< generated tokens per second
  busy: number; ///< slots
  waiting: number;
  memory: number; ///< bytes
}

export const kSpan = 300_000; // milliseconds
const kPeriod = 1000;
const kGap = 5000; // a longer one, such as a hidden tab's, says nothing about the seconds in it

export const samples = signal<Sample[]>([]);
export const pollProblem = signal('');

let last: { time: number; status: Status } | null = null;

export const memoryOf = (now: Status) =>
  Object.entries(now.memory).reduce((sum, [name, value]) => sum + (name === 'conversation_cache' ? 0 : value), 0);

export function addStatus(now: Status, time: number) {
  const before = last && time - last.time < kGap && last.status.totals.requests <= now.totals.requests ? last : null;
  last = { time, status: now };
  status.value = now;
  if (!before || time <= before.time) return; // nothing to compare with
  const rate = (field: 'prompt_tokens_read' | 'completion_tokens') =>
    (Math.max(0, now.totals[field] - before.status.totals[field]) * 1000) / (time - before.time);
  const sample: Sample = {
    time,
    reading: rate('prompt_tokens_read'),
    writing: rate('completion_tokens'),
    busy: now.slots.filter((slot) => slot.is_processing).length,
    waiting: now.queue.waiting,
    memory: memoryOf(now),
  };
  samples.value = [...samples.value.filter((old) => old.time > time - kSpan), sample];
}

/// Asks each second while the page is visible. Returns what ends it.
export function poll(): () => void {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  const ask = async () => {
    if (!document.hidden) {
      try {
        addStatus(await getStatus(controller.signal), Date.now());
        pollProblem.value = '';
      } catch (error) {
        if (!controller.signal.aborted && !(error instanceof ApiError && error.status === 401)) pollProblem.value = messageOf(error);
      }
    }
    if (!controller.signal.aborted) timer = setTimeout(ask, kPeriod);
  };
  void ask();
  return () => {
    controller.abort();
    clearTimeout(timer);
  };
}
