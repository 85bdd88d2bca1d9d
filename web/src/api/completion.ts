// POST /v1/chat/completions as a stream.
import { ApiError, request, sentence } from './client';
import { readEvents } from './events';

export interface RequestMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | null;
  reasoning_content?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

export interface Timings {
  cache_n: number;
  prompt_n: number;
  prompt_per_second: number;
  predicted_n: number;
  predicted_per_second: number;
}

export interface Progress {
  total: number;
  cache: number;
  processed: number;
}

/// What a stream tells, piece by piece.
export interface Listener {
  progress(progress: Progress): void;
  content(text: string): void;
  reasoning(text: string): void;
  call(index: number, part: { id?: string; name?: string; arguments?: string }): void;
  finish(reason: string): void;
  timings(timings: Timings, reasoningTokens: number): void;
}

interface Chunk {
  error?: { message?: string };
  prompt_progress?: Progress;
  choices?: {
    delta?: {
      content?: string | null;
      reasoning_content?: string | null;
      tool_calls?: { index?: number; id?: string; function?: { name?: string; arguments?: string } }[];
    };
    finish_reason?: string | null;
  }[];
  usage?: { completion_tokens_details?: { reasoning_tokens?: number } } | null;
  timings?: Timings;
}

/// Returns at the end of the answer; throws an ApiError, or the signal's AbortError.
export async function streamCompletion(body: object, listener: Listener, signal: AbortSignal): Promise<void> {
  const response = await request('v1/chat/completions', {
    method: 'POST',
    signal,
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true }, return_progress: true }),
  });
  if (!response.body) throw new ApiError('The browser gives no access to the stream.', response.status);
  let finished = false;
  try {
    for await (const data of readEvents(response.body)) {
      if (data === '[DONE]') return;
      finished = tell(parse(data), listener) || finished;
    }
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    throw new ApiError('The connection broke while the answer was written.', 0);
  }
  if (!finished) throw new ApiError('The server ended the connection before the answer was complete.', 0);
}

function parse(data: string): Chunk {
  try {
    return JSON.parse(data) as Chunk;
  } catch {
    throw new ApiError('The server sent an event that is no JSON.', 0);
  }
}

/// Whether the chunk ends the answer.
function tell(chunk: Chunk, listener: Listener): boolean {
  if (chunk.error) throw new ApiError(sentence(chunk.error.message ?? 'the server gave no reason'), 500);
  if (chunk.prompt_progress) listener.progress(chunk.prompt_progress);
  const choice = chunk.choices?.[0];
  if (choice?.delta?.reasoning_content) listener.reasoning(choice.delta.reasoning_content);
  if (choice?.delta?.content) listener.content(choice.delta.content);
  for (const call of choice?.delta?.tool_calls ?? []) {
    listener.call(call.index ?? 0, { id: call.id, name: call.function?.name, arguments: call.function?.arguments });
  }
  if (choice?.finish_reason) listener.finish(choice.finish_reason);
  if (chunk.timings) listener.timings(chunk.timings, chunk.usage?.completion_tokens_details?.reasoning_tokens ?? 0);
  return Boolean(choice?.finish_reason);
}
