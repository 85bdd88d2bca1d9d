import { useId, useState } from 'preact/hooks';
import { defaults } from '../api/status';
import { emptySettings, type Settings } from '../chats/chat';
import { parseTools } from '../chats/prompt';
import { changeSettings, type ChatRef } from '../chats/session';
import { Dialog } from '../ui/Dialog';

type NumberName = Exclude<keyof Settings, 'system' | 'tools' | 'reasoning_effort'>;
interface NumberField {
  name: NumberName;
  label: string;
  hint: string;
  min: number;
  max?: number;
  step: number;
}

const fields: NumberField[] = [
  { name: 'temperature', label: 'Temperature', hint: '0: always the likeliest token', min: 0, max: 5, step: 0.1 },
  { name: 'top_p', label: 'Top P', hint: 'keeps the likeliest tokens up to this share', min: 0, max: 1, step: 0.05 },
  { name: 'top_k', label: 'Top K', hint: 'keeps so many tokens; 0: all', min: 0, step: 1 },
  { name: 'min_p', label: 'Min P', hint: 'drops what is less likely than this share of the best', min: 0, max: 1, step: 0.01 },
  { name: 'repeat_penalty', label: 'Repeat penalty', hint: '1: none', min: 0, max: 5, step: 0.05 },
  { name: 'presence_penalty', label: 'Presence penalty', hint: '0: none', min: -2, max: 2, step: 0.1 },
  { name: 'frequency_penalty', label: 'Frequency penalty', hint: '0: none', min: -2, max: 2, step: 0.1 },
  { name: 'max_tokens', label: 'Tokens at most', hint: 'empty: as many as fit', min: 1, step: 1 },
  { name: 'seed', label: 'Seed', hint: 'the same seed gives the same answer', min: 0, step: 1 },
];

export function SettingsSheet({ chat, onClose }: { chat: ChatRef; onClose: () => void }) {
  const settings = chat.value.settings;
  const set = (part: Partial<Settings>) => {
    const next = { ...chat.peek().settings, ...part };
    for (const name of Object.keys(next) as (keyof Settings)[]) if (next[name] === undefined) delete next[name];
    changeSettings(chat, next);
  };
  const id = useId();
  return (
    <Dialog sheet title="Settings of this chat" onClose={onClose}>
      <div class="field">
        <label for={`${id}-system`}>System prompt</label>
        <textarea
          id={`${id}-system`}
          rows={5}
          placeholder="How the model shall behave; empty: none"
          value={settings.system}
          onInput={(event) => set({ system: event.currentTarget.value })}
        />
      </div>
      <div class="field">
        <label for={`${id}-effort`}>Thinking</label>
        <select
          id={`${id}-effort`}
          value={settings.reasoning_effort ?? ''}
          onChange={(event) => set({ reasoning_effort: event.currentTarget.value || undefined })}
        >
          <option value="">As the model has it</option>
          <option value="none">None</option>
          <option value="low">Low</option>
          <option value="medium">Medium</option>
          <option value="high">High</option>
        </select>
        <p class="hint">Where the model's template knows it.</p>
      </div>
      <fieldset class="grid">
        <legend>Sampling</legend>
        {fields.map((field) => (
          <NumberInput key={field.name} field={field} value={settings[field.name]} onChange={(value) => set({ [field.name]: value })} />
        ))}
      </fieldset>
      <Tools text={settings.tools} onChange={(tools) => set({ tools })} />
      <p class="hint">Empty fields leave the choice to the server. New chats begin with these settings.</p>
      <div class="row-end">
        <button type="button" class="button" onClick={() => changeSettings(chat, emptySettings())}>
          Empty all
        </button>
      </div>
    </Dialog>
  );
}

function NumberInput({ field, value, onChange }: { field: NumberField; value?: number; onChange: (value?: number) => void }) {
  const id = useId();
  const standard = defaults.value[field.name];
  return (
    <div class="field">
      <label for={id}>{field.label}</label>
      <input
        id={id}
        type="number"
        inputMode="decimal"
        min={field.min}
        max={field.max}
        step="any"
        placeholder={standard === undefined ? '' : String(Number(standard.toFixed(4)))}
        value={value ?? ''}
        aria-describedby={`${id}-hint`}
        onChange={(event) => {
          const input = event.currentTarget;
          onChange(
            input.value !== '' && input.validity.valid
              ? field.step === 1
                ? Math.round(input.valueAsNumber)
                : input.valueAsNumber
              : undefined,
          );
          input.reportValidity();
        }}
      />
      <p class="hint" id={`${id}-hint`}>
        {field.hint}
      </p>
    </div>
  );
}

function Tools({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const id = useId();
  const [problem, setProblem] = useState('');
  const check = (value: string) => {
    try {
      parseTools(value);
      setProblem('');
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <details class="tools">
      <summary>Tools</summary>
      <div class="field">
        <label for={id}>Function tools, as a JSON list</label>
        <textarea
          id={id}
          class="mono"
          rows={6}
          spellcheck={false}
          placeholder={'[{"type": "function", "function": {"name": "weather", "parameters": {...}}}]'}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
          onBlur={(event) => check(event.currentTarget.value)}
        />
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p class="hint">The model's calls are shown; you write the results.</p>
      </div>
    </details>
  );
}
