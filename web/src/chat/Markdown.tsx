import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import type { Token } from 'marked';
import { copyText } from '../ui/CopyButton';
import { blocksOf, htmlOf } from './markdown';

const Block = memo(
  ({ block }: { block: Token }) => {
    const html = useMemo(() => htmlOf(block), [block]);
    return <div class="block" dangerouslySetInnerHTML={{ __html: html }} />;
  },
  (before, after) => before.block.raw === after.block.raw && before.block.type === after.block.type,
);

/// One handler for the copy buttons of all code blocks.
function copyCode(event: MouseEvent) {
  const button = (event.target as Element).closest('button.copy-code');
  const code = button?.closest('.code')?.querySelector('code');
  if (button instanceof HTMLButtonElement && code) void copyText(code.textContent ?? '', button);
}

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div class="markdown" onClick={copyCode}>
      {blocks.map((block, i) => (
        <Block key={i} block={block} />
      ))}
    </div>
  );
}
