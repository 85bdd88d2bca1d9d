// A branch of a chat as the body of a request.
import type { RequestMessage } from '../api/completion';
import type { Attachment, Message, Settings } from './chat';

/// The function tools of the settings; throws an error with a sentence.
export function parseTools(text: string): unknown[] {
  if (!text.trim()) return [];
  let tools: unknown;
  try {
    tools = JSON.parse(text);
  } catch (error) {
    throw new Error(`The tools in the settings are no JSON: ${(error as Error).message}.`);
  }
  if (!Array.isArray(tools)) throw new Error('The tools in the settings must be a list: [{"type": "function", ...}].');
  return tools;
}

export function requestBody(path: Message[], settings: Settings): object {
  const { system, tools: toolsText, ...sampling } = settings;
  const tools = parseTools(toolsText);
  const messages: RequestMessage[] = system.trim() ? [{ role: 'system', content: system }] : [];
  for (const message of path) messages.push(...requestMessages(message));
  return { ...sampling, messages, ...(tools.length > 0 ? { tools } : {}) };
}

function requestMessages(message: Message): RequestMessage[] {
  if (message.role === 'user') return [{ role: 'user', content: withAttachments(message.content, message.attachments) }];
  const made: RequestMessage = { role: 'assistant', content: message.content };
  if (message.reasoning) made.reasoning_content = message.reasoning;
  if (!message.calls?.length) return [made];
  made.tool_calls = message.calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  const results = message.calls.map((call): RequestMessage => ({
    role: 'tool',
    tool_call_id: call.id,
    content: call.result ?? '(no result)',
  }));
  return [made, ...results];
}

/// Files come first: the question after a long text is understood better than one before it.
function withAttachments(content: string, attachments: Attachment[] = []): string {
  const files = attachments.map(({ name, text }) => {
    // A fence longer than any in the file.
    const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
    const fence = '`'.repeat(longest + 1);
    return `File ${name}:\n${fence}\n${text}\n${fence}\n`;
  });
  return [...files, content].join('\n');
}
