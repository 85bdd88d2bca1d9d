// GET /v1/status and /props.
import { signal } from '@preact/signals';
import { getJson } from './client';

export interface Slot {
  id: number;
  n_ctx: number;
  is_processing: boolean;
  n_prompt_tokens: number;
  n_prompt_tokens_processed: number;
  n_prompt_tokens_cache: number;
  next_token: { n_decoded: number };
}

export interface ModelMeta {
  architecture: string;
  name: string;
  n_vocab: number;
  n_ctx: number;
  n_ctx_train: number;
  n_embd: number;
  size: number;
}

/// What is known once the model has been in memory.
export interface ModelFacts {
  instruction_set: string;
  threads: number;
  chat_format: string;
  /// Bytes that one generated token reads; kv_per_position for each token before it.
  token_bytes: { dense: number; experts: number; head: number; state: number; kv_per_position: number };
}

export interface Status extends Partial<ModelFacts> {
  model: { id: string; meta?: ModelMeta };
  loaded: boolean;
  version: string;
  numeric_profile: string;
  kv_type: string;
  /// conversation_cache is a part of KV and states.
  memory: Record<string, number>;
  cache: { bytes: number; limit: number; conversations: number };
  queue: { waiting: number; limit: number };
  slots: Slot[];
  totals: {
    requests: number;
    steps: number;
    prompt_tokens_read: number;
    prompt_tokens_cached: number;
    completion_tokens: number;
    prompt_seconds: number;
    decode_seconds: number;
  };
}

export interface Props {
  default_generation_settings: { n_ctx: number; params: Record<string, number> };
}

export const getStatus = (signal?: AbortSignal) => getJson<Status>('v1/status', { signal });

/// Of the moment when they were last asked for; null until the server has answered once.
export const status = signal<Status | null>(null);
export const defaults = signal<Record<string, number>>({});

export async function loadServer(): Promise<void> {
  const [now, props] = await Promise.all([getStatus(), getJson<Props>('props')]);
  status.value = now;
  defaults.value = props.default_generation_settings.params;
}
