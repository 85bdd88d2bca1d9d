import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Attachment } from '../chats/chat';
import { Icon } from '../ui/icons';
import { notify } from '../ui/notices';
import { readTextFile } from './files';

interface Props {
  busy: boolean;
  onSend: (text: string, files: Attachment[]) => void;
  onStop: () => void;
}

/// Touch screens have no Shift: there Enter begins a new line, and the button sends.
const touch = matchMedia('(pointer: coarse)');

export function Composer({ busy, onSend, onStop }: Props) {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<Attachment[]>([]);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  const add = async (list: Iterable<File>) => {
    for (const file of list) {
      try {
        const read = await readTextFile(file);
        setFiles((all) => [...all, read]);
      } catch (error) {
        notify((error as Error).message, 'error');
      }
    }
    area.current?.focus();
  };
  const dragging = useFileDrop(add);

  useEffect(() => {
    if (!touch.matches) area.current?.focus();
  }, []);
  useLayoutEffect(() => {
    area.current!.style.height = 'auto';
    area.current!.style.height = `${Math.min(area.current!.scrollHeight, innerHeight * 0.4)}px`;
  }, [text]);

  const ready = !busy && (text.trim() !== '' || files.length > 0);
  const submit = () => {
    if (!ready) return;
    onSend(text.trim(), files);
    setText('');
    setFiles([]);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || touch.matches) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {dragging && <div class="drop-hint">Drop text files to add them to your message</div>}
      {files.length > 0 && <Chips files={files} onRemove={(i) => setFiles(files.filter((_, other) => other !== i))} />}
      <div class="composer-row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-hidden="true"
          onChange={() => {
            void add([...picker.current!.files!]);
            picker.current!.value = '';
          }}
        />
        <button
          type="button"
          class="icon-button"
          aria-label="Add text files"
          title="Add text files"
          onClick={() => picker.current!.click()}
        >
          <Icon name="attach" />
        </button>
        <textarea
          ref={area}
          id="composer-text"
          rows={1}
          aria-label="Your message"
          placeholder="Write a message"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={pressed}
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])];
            if (pasted.length === 0) return;
            event.preventDefault();
            void add(pasted);
          }}
        />
        {busy ? (
          <button type="button" class="send" aria-label="Stop (Esc)" title="Stop (Esc)" onClick={onStop}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" class="send" aria-label="Send (Enter)" title="Send (Enter)" disabled={!ready}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}

export const Chips = ({ files, onRemove }: { files: Attachment[]; onRemove?: (index: number) => void }) => (
  <ul class="chips" aria-label="Attached files">
    {files.map((file, i) => (
      <li key={i} class="chip" title={`${file.text.length.toLocaleString('en')} characters`}>
        <Icon name="file" />
        <span>{file.name}</span>
        {onRemove && (
          <button type="button" class="icon-button" aria-label={`Remove ${file.name}`} onClick={() => onRemove(i)}>
            <Icon name="close" />
          </button>
        )}
      </li>
    ))}
  </ul>
);

/// Files may be dropped anywhere on the page. Returns whether one hovers over it.
function useFileDrop(add: (files: Iterable<File>) => void): boolean {
  const [dragging, setDragging] = useState(false);
  const current = useRef(add);
  current.current = add;
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDragging(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setDragging(false);
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDragging(false);
      current.current([...event.dataTransfer!.files]);
    };
    addEventListener('dragover', over);
    addEventListener('dragleave', leave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', drop);
    };
  }, []);
  return dragging;
}
