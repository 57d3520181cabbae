import { signal } from '@preact/signals';

export type Tone = 'plain' | 'good' | 'warning' | 'bad';

/** A short notice that goes away by itself. Screen readers speak it. */
export type Toast = { readonly id: number; readonly text: string; readonly tone: Tone };

const SHOWN_MS = 8000;
const MOST = 4;
let lastId = 0;

/** The notices on the screen, oldest first. */
export const toasts = signal<readonly Toast[]>([]);

/** Takes a notice away. */
export const dismissToast = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

/** Shows a notice. A bad one stays until it is dismissed, or others push it out. */
export const showToast = (text: string, tone: Tone = 'plain'): void => {
  lastId += 1;
  const id = lastId;
  toasts.value = [...toasts.value.filter((toast) => toast.text !== text), { id, text, tone }].slice(-MOST);
  if (tone !== 'bad') setTimeout(() => dismissToast(id), SHOWN_MS);
};
