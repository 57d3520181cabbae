import { signal } from '@preact/signals';

/** The time, in milliseconds since the epoch, renewed every second while the page is shown. */
export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now();
});
