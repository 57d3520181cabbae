import { computed, signal } from '@preact/signals';

/** The path of the page, such as `/sessions/0/ses_1`. */
export const path = signal(location.pathname);

/** The path in its decoded pieces: `['sessions', '0', 'ses_1']`. */
export const pathPieces = computed(() => path.value.split('/').filter(Boolean).map(decoded));

const decoded = (piece: string): string => {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
};

/** Shows another page of the console, as a link does. */
export const navigate = (to: string, isReplacement = false): void => {
  if (to === path.value) return;
  if (isReplacement) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  path.value = location.pathname;
  if (!isReplacement) scrollTo(0, 0);
};

addEventListener('popstate', () => {
  path.value = location.pathname;
});

/** Links to the console itself change the page in place; with a modifier key, or to a file, the browser does as always. */
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname.startsWith('/api/') || link.hash !== '') return;
  event.preventDefault();
  navigate(link.pathname);
});
