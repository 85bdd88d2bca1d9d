import { useEffect } from 'preact/hooks';
import { status, type Slot, type Status } from '../api/status';
import { bytesPerToken, memoryParts, totalOf } from '../model/parts';
import { Bar } from '../ui/Bar';
import { PageHead } from '../ui/PageHead';
import { bytes, count, powerAbove, rate } from '../ui/units';
import { memoryOf, poll, pollProblem, samples, type Sample } from './history';
import { Plot } from './Plot';

export function MonitorPage() {
  useEffect(poll, []);
  useEffect(() => {
    document.title = 'Monitor - Terrace';
  }, []);
  const now = status.value;
  return (
    <>
      <PageHead title="Monitor" />
      <div class="scroller">
        <div class="wide">
          {pollProblem.value && (
            <p class="failure" role="alert">
              {pollProblem.value} Asking again each second.
            </p>
          )}
          {now ? <Figures now={now} history={samples.value} /> : <p class="hint">Waiting for the server…</p>}
        </div>
      </div>
    </>
  );
}

function Figures({ now, history }: { now: Status; history: Sample[] }) {
  const latest = history.at(-1);
  const { totals, cache } = now;
  const perToken = bytesPerToken(now, contextInUse(now));
  const prompts = totals.prompt_tokens_read + totals.prompt_tokens_cached;
  const perSecond = (value: number) => `${rate(value)} tokens/s`;
  return (
    <>
      <section class="tiles" aria-label="Now">
        <Tile name="Writing" value={rate(latest?.writing ?? 0)} unit="tokens/s" />
        <Tile name="Reading prompts" value={rate(latest?.reading ?? 0)} unit="tokens/s" />
        <Tile name="Busy slots" value={String(now.slots.filter((slot) => slot.is_processing).length)} unit={`of ${now.slots.length}`} />
        <Tile name="Queue" value={String(now.queue.waiting)} unit={`of ${count(now.queue.limit)}`} />
        <Tile
          name="Cache hits"
          value={prompts > 0 ? rate((totals.prompt_tokens_cached / prompts) * 100) : '-'}
          unit={prompts > 0 ? '%' : ''}
        />
        <Tile name="Memory" {...splitUnit(bytes(memoryOf(now)))} />
      </section>
      <section class="plots" aria-label="The last five minutes">
        <Plot title="Writing" samples={history} value={(s) => s.writing} format={perSecond} />
        <Plot title="Reading prompts" samples={history} value={(s) => s.reading} format={perSecond} />
        <Plot
          title="Busy slots and queue"
          samples={history}
          value={(s) => s.busy + s.waiting}
          format={(v) => rate(v)}
          top={now.slots.length}
        />
        <Plot title="Memory" samples={history} value={(s) => s.memory} format={bytes} axis={powerAbove} />
      </section>
      <section class="card">
        <h2>Slots</h2>
        <ul class="slots">
          {now.slots.map((slot) => (
            <SlotRow key={slot.id} slot={slot} />
          ))}
        </ul>
      </section>
      <div class="columns">
        <section class="card">
          <h2>
            Memory by purpose <span class="number total">{bytes(memoryOf(now))}</span>
          </h2>
          <Bar label="Memory" parts={memoryParts(now)} format={bytes} />
          <p class="hint">
            The conversation cache holds {count(cache.conversations)} beginnings of conversations in {bytes(cache.bytes)} of at most{' '}
            {bytes(cache.limit)}; they are a part of the above.
          </p>
        </section>
        <section class="card">
          <h2>
            Bytes per token <span class="number total">{bytes(totalOf(perToken))}</span>
          </h2>
          <Bar label="Bytes that a generated token reads" parts={perToken} format={bytes} />
          <p class="hint">
            {now.token_bytes
              ? 'What is read for each generated token, if it is alone in its step; several in one share the weights.'
              : 'The model has not been in memory yet.'}
          </p>
        </section>
      </div>
      <section class="card">
        <h2>Since the start</h2>
        <dl class="facts">
          <Fact name="Requests" value={count(totals.requests)} />
          <Fact name="Tokens written" value={count(totals.completion_tokens)} />
          <Fact name="Prompt tokens read" value={count(totals.prompt_tokens_read)} />
          <Fact name="Prompt tokens from the cache" value={count(totals.prompt_tokens_cached)} />
          <Fact name="Speed of reading prompts" value={speed(totals.prompt_tokens_read, totals.prompt_seconds)} />
          <Fact name="Steps" value={count(totals.steps)} />
        </dl>
      </section>
    </>
  );
}

const speed = (tokens: number, seconds: number) => (seconds > 0 ? `${rate(tokens / seconds)} tokens/s` : '-');

function splitUnit(text: string): { value: string; unit: string } {
  const [value = '', unit = ''] = text.split(' ');
  return { value, unit };
}

/// Of the busy slots, on average.
function contextInUse(now: Status): number {
  const busy = now.slots.filter((slot) => slot.is_processing);
  if (busy.length === 0) return 0;
  return busy.reduce((sum, slot) => sum + slot.n_prompt_tokens_processed + slot.next_token.n_decoded, 0) / busy.length;
}

const Tile = ({ name, value, unit }: { name: string; value: string; unit: string }) => (
  <div class="tile">
    <span class="tile-name">{name}</span>
    <span class="tile-value number">{value}</span> <span class="hint">{unit}</span>
  </div>
);

export const Fact = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

function SlotRow({ slot }: { slot: Slot }) {
  const reading = slot.is_processing && slot.n_prompt_tokens_processed < slot.n_prompt_tokens;
  const used = slot.is_processing ? slot.n_prompt_tokens_processed + slot.next_token.n_decoded : 0;
  const cached = slot.n_prompt_tokens_cache > 0 ? `, ${count(slot.n_prompt_tokens_cache)} of them cached` : '';
  const doing = !slot.is_processing
    ? 'Idle'
    : reading
      ? `Reading ${count(slot.n_prompt_tokens_processed)} of ${count(slot.n_prompt_tokens)} tokens${cached}`
      : `Writing token ${count(slot.next_token.n_decoded)} after a prompt of ${count(slot.n_prompt_tokens)}${cached}`;
  return (
    <li class={slot.is_processing ? 'busy' : ''}>
      <span class="slot-name">{slot.id + 1}</span>
      <span class="slot-doing">{doing}</span>
      {slot.is_processing && (
        <progress
          class={reading ? 'reading' : ''}
          max={reading ? slot.n_prompt_tokens : slot.n_ctx}
          value={reading ? slot.n_prompt_tokens_processed : used}
          aria-label={reading ? 'Of the prompt' : 'Of the context'}
        />
      )}
      {slot.is_processing && !reading && <span class="hint number">{rate((used / slot.n_ctx) * 100)} % of the context</span>}
    </li>
  );
}
