import type { Attachment } from '../chats/chat';

const kLimit = 1 << 20;

/// The text of a file, or an error with a sentence.
export async function readTextFile(file: File): Promise<Attachment> {
  if (file.size > kLimit) throw new Error(`${file.name} is larger than 1 MiB; attach a part of it.`);
  const bytes = await file.arrayBuffer().catch(() => {
    throw new Error(`${file.name} cannot be read; is it a folder?`);
  });
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return { name: file.name, text };
  } catch {
    // Not UTF-8.
  }
  throw new Error(`${file.name} is no text file; only text can be attached.`);
}
