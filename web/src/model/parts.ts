// What holds memory, and what a token reads.
import type { ModelFacts, Status } from '../api/status';
import type { Part } from '../ui/Bar';

const names: Record<string, { name: string; note?: string }> = {
  weights: { name: 'Weights', note: 'the model itself' },
  KV: { name: 'KV', note: 'keys and values of past tokens' },
  states: { name: 'States', note: 'of recurrent layers' },
  activations: { name: 'Activations', note: 'of the running step' },
  logits: { name: 'Logits' },
  other: { name: 'Other' },
};

export const memoryParts = (now: Status): Part[] =>
  Object.entries(now.memory)
    .filter(([purpose]) => purpose !== 'conversation_cache')
    .map(([purpose, value]) => ({ ...(names[purpose] ?? { name: purpose }), value }));

export const totalOf = (parts: Part[]) => parts.reduce((sum, part) => sum + part.value, 0);

/// For one generated token after `context` others; nothing while that is not known.
export function bytesPerToken(now: Partial<ModelFacts>, context: number): Part[] {
  if (!now.token_bytes) return [];
  const { dense, experts, head, state, kv_per_position } = now.token_bytes;
  const positions = Math.round(context);
  return [
    { name: 'Dense weights', value: dense },
    { name: 'Experts', value: experts, note: 'those that are chosen' },
    { name: 'Head', value: head },
    { name: 'State', value: state, note: 'read and written' },
    { name: 'KV', value: kv_per_position * positions, note: `of ${positions.toLocaleString('en')} tokens` },
  ];
}
