import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { texts } from '../texts.ts';
import { Icon } from './icon.tsx';

type DialogProps = {
  readonly title: string;
  /** Called when the dialog is closed by Escape, its cross or a button; the caller then leaves it out. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
};

let lastId = 0;

/** A modal dialog, open as long as it is rendered. The focus moves into it, to what has `data-first-focus`, and back when it goes. */
export const Dialog = ({ title, onClose, children }: DialogProps) => {
  const element = useSignal<HTMLDialogElement | null>(null);
  const id = useSignal(0);
  if (id.peek() === 0) {
    lastId += 1;
    id.value = lastId;
  }
  useSignalEffect(() => {
    const dialog = element.value;
    if (dialog === null) return;
    const before = document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('[data-first-focus]')?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  });
  return (
    <dialog
      ref={(found) => {
        element.value = found;
      }}
      class="dialog"
      aria-labelledby={`dialog-${id.peek()}`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={`dialog-${id.peek()}`}>{title}</h2>
        <button type="button" class="button quiet icon-only" aria-label={texts.common.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
};
