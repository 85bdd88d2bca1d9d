import { useId, useState } from 'preact/hooks';
import type { ToolCall } from '../chats/chat';
import { Icon } from '../ui/icons';
import { highlightedCode } from './markdown';

interface Props {
  calls: ToolCall[];
  writing: boolean;
  /// Given where the results are still to be told.
  onResults?: (results: string[]) => void;
}

/// This page runs no tools: the reader plays them.
export function ToolCalls({ calls, writing, onResults }: Props) {
  const [results, setResults] = useState<string[]>([]);
  return (
    <form
      class="calls"
      onSubmit={(event) => {
        event.preventDefault();
        onResults?.(calls.map((_, i) => results[i] ?? ''));
      }}
    >
      {calls.map((call, i) => (
        <Call
          key={i}
          call={call}
          writing={writing && i === calls.length - 1}
          onResult={onResults ? (text) => setResults(calls.map((_, j) => (j === i ? text : (results[j] ?? '')))) : undefined}
        />
      ))}
      {onResults && (
        <div class="row-end">
          <button type="submit" class="button primary">
            {calls.length > 1 ? 'Send the results' : 'Send the result'}
          </button>
        </div>
      )}
    </form>
  );
}

function Call({ call, writing, onResult }: { call: ToolCall; writing: boolean; onResult?: (text: string) => void }) {
  const id = useId();
  return (
    <section class="call" aria-label={`Call of ${call.name}`}>
      <h3>
        <Icon name="tool" />
        <code>{call.name}</code>
        {writing && <span class="hint going">is being called…</span>}
      </h3>
      <pre tabIndex={0}>
        <code dangerouslySetInnerHTML={{ __html: highlightedCode(indented(call.arguments), 'json') }} />
      </pre>
      {call.result !== undefined && (
        <>
          <h4>Result</h4>
          <pre tabIndex={0}>{call.result || '(empty)'}</pre>
        </>
      )}
      {onResult && (
        <div class="field">
          <label for={id}>Result of {call.name}</label>
          <textarea id={id} rows={2} placeholder="What the tool answers" onInput={(event) => onResult(event.currentTarget.value)} />
        </div>
      )}
    </section>
  );
}

/// As it is while it is incomplete, or if the model wrote no JSON.
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
