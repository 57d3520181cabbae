import { computed, effect, signal } from '@preact/signals';
import { plainLine } from '../format/hostile.ts';
import { texts } from '../texts.ts';
import { isOpen, shownApprovals, waitingCount } from './approvals.ts';
import { visitor } from './visitor.ts';

/** The name of the page that is shown, for the title of the tab. */
export const pageName = signal('');

/** Whether this browser notifies: it does, may be asked, has refused, or cannot (no HTTPS, or no support). */
export const notifying = signal<'on' | 'askable' | 'refused' | 'impossible'>('impossible');

const readPermission = (): void => {
  if (!('Notification' in window) || !isSecureContext) notifying.value = 'impossible';
  else
    notifying.value = { granted: 'on', denied: 'refused', default: 'askable' }[Notification.permission] as
      | 'on'
      | 'refused'
      | 'askable';
};

/** Asks the browser for the permission to notify. Only on a click of the visitor. */
export const askToNotify = async (): Promise<void> => {
  await Notification.requestPermission();
  readPermission();
};

const openIds = computed(() => (shownApprovals.value ?? []).filter(isOpen).map(({ approval }) => approval));

/** Says in the tab's title how many requests wait, and notifies of new ones while the page is not looked at. */
export const startAttention = (): (() => void) => {
  readPermission();
  const stopTitle = effect(() => {
    document.title = texts.tabTitle(pageName.value, visitor.value === null ? 0 : waitingCount.value);
  });
  let known: ReadonlySet<string> | undefined;
  const stopNotifying = effect(() => {
    const open = openIds.value;
    const fresh = known === undefined ? [] : open.filter(({ id }) => !known?.has(id));
    if (shownApprovals.value !== undefined) known = new Set(open.map(({ id }) => id));
    if (notifying.peek() !== 'on' || document.hasFocus()) return;
    for (const { id, tool } of fresh) {
      try {
        // The arguments stay on the page: a notification may show on a locked screen.
        const shown = new Notification(texts.approvals.notificationTitle, {
          body: texts.approvals.notificationBody(plainLine(tool, 80)),
          tag: id,
        });
        shown.onclick = () => {
          window.focus();
          shown.close();
        };
      } catch {
        // Chromium on Android has notifications for service workers alone.
        notifying.value = 'impossible';
      }
    }
  });
  return () => {
    stopTitle();
    stopNotifying();
  };
};
