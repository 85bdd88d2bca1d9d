import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icons';

interface Props {
  title: string;
  onClose: () => void;
  /// A sheet stands at the side of the page, over its whole height.
  sheet?: boolean;
  children: ComponentChildren;
}

/// A modal dialog: the browser keeps the focus inside and gives it back; Esc and a click beside it close it.
export function Dialog({ title, onClose, sheet, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={sheet ? 'sheet' : ''}
      aria-labelledby={id}
      onClose={onClose}
      onMouseDown={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={() => dialog.current!.close()}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
