import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf, apiKey } from '../api/client';
import { loadServer, status, type ModelMeta, type Status } from '../api/status';
import { highlightedCode } from '../chat/markdown';
import { Fact } from '../monitor/MonitorPage';
import { Bar } from '../ui/Bar';
import { CopyButton } from '../ui/CopyButton';
import { messageOf, notify } from '../ui/notices';
import { PageHead } from '../ui/PageHead';
import { bytes, count } from '../ui/units';
import { memoryOf } from '../monitor/history';
import { bytesPerToken, memoryParts, totalOf } from './parts';
import { snippetsFor, type Snippet } from './snippets';

export function ModelPage() {
  useEffect(() => {
    document.title = 'Model - Terrace';
    loadServer().catch((error) => notify(messageOf(error), 'error'));
  }, []);
  const now = status.value;
  return (
    <>
      <PageHead title="Model" />
      <div class="scroller">
        <div class="wide">{now ? <Description now={now} /> : <p class="hint">Waiting for the server…</p>}</div>
      </div>
    </>
  );
}

function Description({ now }: { now: Status }) {
  const { meta, id } = now.model;
  return (
    <>
      <section class="card">
        <h2>{meta?.name || id}</h2>
        {!now.loaded && <p>The model is not in memory. The next request loads it.</p>}
        {meta && <ModelList meta={meta} id={id} format={now.chat_format} />}
      </section>
      <section class="card">
        <h2>
          Memory <span class="number total">{bytes(memoryOf(now))}</span>
        </h2>
        <Bar label="Memory" parts={memoryParts(now)} format={bytes} />
        {meta && now.token_bytes && <TokenBytes now={now} context={Math.min(4096, meta.n_ctx)} perPosition={now.token_bytes.kv_per_position} />}
      </section>
      <Computation now={now} />
      <Connect now={now} />
      <p class="hint foot">
        <a href="./app/licenses.txt" target="_blank" rel="noopener">
          Licences of the libraries in this page
        </a>
      </p>
    </>
  );
}

const ModelList = ({ meta, id, format }: { meta: ModelMeta; id: string; format: string | undefined }) => (
  <dl class="facts">
    <Fact name="Name in the API" value={id} />
    <Fact name="Architecture" value={meta.architecture} />
    <Fact name="File" value={bytes(meta.size)} />
    <Fact name="Context" value={`${count(meta.n_ctx)} tokens`} />
    <Fact name="Trained context" value={`${count(meta.n_ctx_train)} tokens`} />
    <Fact name="Vocabulary" value={`${count(meta.n_vocab)} tokens`} />
    <Fact name="Hidden size" value={count(meta.n_embd)} />
    <Fact name="Chat format" value={format || 'none'} />
  </dl>
);

function TokenBytes({ now, context, perPosition }: { now: Status; context: number; perPosition: number }) {
  const perToken = bytesPerToken(now, context);
  return (
    <>
      <h3>
        What one generated token reads <span class="number total">{bytes(totalOf(perToken))}</span>
      </h3>
      <Bar label="Bytes that a generated token reads" parts={perToken} format={bytes} />
      <p class="hint">
        Each token of context adds {bytes(perPosition)} of KV. The speed of an answer is about the memory's bandwidth
        divided by this sum.
      </p>
    </>
  );
}

function Computation({ now }: { now: Status }) {
  const profile = now.numeric_profile === 'reference' ? 'reference: activations and KV in f32' : now.numeric_profile;
  return (
    <section class="card">
      <h2>How it is computed</h2>
      <dl class="facts">
        {now.instruction_set && <Fact name="Instruction set" value={now.instruction_set} />}
        {now.threads && <Fact name="Threads" value={count(now.threads)} />}
        <Fact name="Numeric profile" value={profile} />
        <Fact name="KV type" value={now.kv_type} />
        <Fact name="Slots" value={count(now.slots.length)} />
        <Fact name="Terrace" value={now.version} />
      </dl>
      <p class="hint">
        The same prompt, settings and seed give the same answer, whatever else the server does meanwhile and however a prompt was read: at
        once, in parts or from the cache.
      </p>
    </section>
  );
}

function Connect({ now }: { now: Status }) {
  const address = addressOf('.').replace(/\/$/, '');
  const snippets = snippetsFor(address, now.model.id, apiKey() ? 'YOUR_KEY' : 'none', now.model.meta?.n_ctx ?? 32768);
  const [chosen, setChosen] = useState(snippets[0]!.id);
  const tabs = useRef<HTMLDivElement>(null);
  const current = snippets.find((snippet) => snippet.id === chosen)!;
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (snippets.indexOf(current) + step + snippets.length) % snippets.length;
    setChosen(snippets[next]!.id);
    tabs.current!.querySelectorAll<HTMLElement>('[role=tab]')[next]!.focus();
  };
  return (
    <section class="card">
      <h2>Connect a client</h2>
      <div class="tabs" role="tablist" aria-label="Clients" ref={tabs} onKeyDown={pressed}>
        {snippets.map((snippet) => (
          <button
            key={snippet.id}
            type="button"
            role="tab"
            id={`tab-${snippet.id}`}
            aria-controls="snippet"
            aria-selected={snippet.id === chosen}
            tabIndex={snippet.id === chosen ? 0 : -1}
            onClick={() => setChosen(snippet.id)}
          >
            {snippet.name}
          </button>
        ))}
      </div>
      <SnippetPanel snippet={current} />
      <p class="hint">
        Base URLs: <code>{address}/v1</code> for the OpenAI API, <code>{address}</code> for the Anthropic API.
      </p>
    </section>
  );
}

const SnippetPanel = ({ snippet }: { snippet: Snippet }) => (
  <div role="tabpanel" id="snippet" aria-labelledby={`tab-${snippet.id}`}>
    {snippet.note && <p>{snippet.note}</p>}
    <div class="code">
      <div class="code-head">
        <span>{snippet.file ?? snippet.language}</span>
        <CopyButton text={() => snippet.text} label={`Copy the snippet for ${snippet.name}`} />
      </div>
      <pre tabIndex={0}>
        <code dangerouslySetInnerHTML={{ __html: highlightedCode(snippet.text, snippet.language) }} />
      </pre>
    </div>
  </div>
);
