import { approvalTexts } from './texts/approvals.ts';
import { chatTexts } from './texts/chat.ts';
import { counted } from './texts/counted.ts';
import { moderationTexts } from './texts/moderation.ts';
import { rechargeTexts } from './texts/recharges.ts';
import { messagePartTexts, sessionTexts } from './texts/sessions.ts';
import { settingsTexts, toolServerTexts } from './texts/settings.ts';

/** Every English text of the page, by the place where it stands. Another language is another object of this shape. */
export const texts = {
  product: 'Gatehouse',
  tabTitle: (page: string, waiting: number): string =>
    `${waiting > 0 ? `(${waiting}) ` : ''}${page === '' ? '' : `${page} · `}Gatehouse`,
  skipToContent: 'Skip to content',
  nav: {
    label: 'Pages',
    menu: 'Menu',
    approvals: 'Approvals',
    moderation: 'Moderation',
    chat: 'Chat',
    sessions: 'Sessions',
    recharges: 'Recharges',
    settings: 'Settings',
    waiting: (count: number): string => `${count} waiting`,
    standing: 'Calls run without asking',
  },
  visitor: {
    roles: { viewer: 'Viewer', approver: 'Approver', admin: 'Admin' },
    logOut: 'Log out',
    local: 'Whoever uses this machine',
  },
  login: {
    title: 'Log in',
    name: 'Name',
    password: 'Password',
    submit: 'Log in',
    wrong: 'Name or password is wrong.',
    throttled: (wait: string): string => `Too many tries. Try again in ${wait}.`,
    throttledAWhile: 'Too many tries. Try again later.',
  },
  connection: {
    lost: 'No connection to the console. What is shown may be old. Trying again.',
  },
  services: {
    label: 'Services',
    unknown: 'Services: asking',
    lost: 'Services: not known now',
    allUp: 'All services up',
    down: (down: number, all: number): string => `${down} of ${all} services down`,
    none: 'No service is set up',
    notReady: (notReady: number, all: number): string => `${notReady} of ${all} services not ready`,
    states: { up: 'Up', 'not-ready': 'Not ready', down: 'Down' },
    since: (time: string): string => `since ${time}`,
    wentDown: (name: string): string => `${name} is down`,
    notUsable: (name: string): string => `${name} is not ready`,
    cameBack: (name: string): string => `${name} is up again`,
    names: {
      gateway: 'Moderation gateway',
      moderation: 'Moderation gateway',
      agent: 'Agent server',
      approvals: 'Agent server',
      bridge: 'Bridge',
      chat: 'Bridge',
      journal: 'Recharge journal',
      recharges: 'Recharge journal',
    } as Readonly<Record<string, string>>,
  },
  parts: {
    approvals: 'Approvals are not set up',
    moderation: 'Moderation is not set up',
    chat: 'Chat is not set up',
    sessions: 'Sessions are not set up',
    recharges: 'Recharges are not set up',
  },
  states: {
    loading: 'Loading',
    retry: 'Try again',
    refresh: 'Refresh',
    noAnswer: 'The console does not answer. It may be restarting, or the network is away.',
    notTheConsole: 'Something else than the console answered. A proxy before it may ask for a login: reload the page.',
    forbidden: 'Your role does not allow this.',
    notFound: 'It is not there (any more).',
    throttled: 'Too many requests. Wait a moment.',
    serverFailed: (status: number): string => `The console failed (status ${status}). Its log says why.`,
    noPage: 'There is no such page',
    noPageHint: 'The address may be mistyped, or what it led to is gone.',
    toApprovals: 'Go to approvals',
    crashed: 'This view stopped because of a fault in the page. Reload it; the rest of the console goes on.',
    reload: 'Reload the page',
  },
  common: {
    close: 'Close',
    cancel: 'Cancel',
    dismiss: 'Dismiss',
    tooDeep: 'Nested too deeply to be shown',
    showAll: (hidden: string): string => `Show ${hidden} more`,
    characters: (count: number): string => counted(count, 'character', 'characters'),
    entries: (count: number): string => counted(count, 'entry', 'entries'),
    showLess: 'Show less',
    empty: '(empty)',
    emptyText: '(empty text)',
    none: '(none)',
    hiddenCharacter: (name: string, meaning: string, count: number): string =>
      `hidden character ${name}, ${meaning}${count > 1 ? `, ${count} times` : ''}`,
  },
  approvals: approvalTexts,
  recharges: rechargeTexts,
  settings: settingsTexts,
  messages: messagePartTexts,
  sessions: sessionTexts,
  moderation: moderationTexts,
  chat: chatTexts,
  toolServers: toolServerTexts,
};
