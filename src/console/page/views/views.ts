import type { ComponentType } from 'preact';
import type { PartName } from '../../protocol.ts';
import type { IconName } from '../parts/icon.tsx';
import { texts } from '../texts.ts';
import { ApprovalsView } from './approvals/view.tsx';
import { ChatView } from './chat/view.tsx';
import { ModerationView } from './moderation/view.tsx';
import { RechargesView } from './recharges/view.tsx';
import { SessionsView } from './sessions/view.tsx';
import { SettingsView } from './settings/view.tsx';

/** A view: the first piece of its path, its name, what it needs at the console, and the component. */
export type View = {
  readonly piece: string;
  readonly name: string;
  readonly icon: IconName;
  /** The part that has to be set up; else the page says what to set. */
  readonly part?: PartName;
  readonly component: ComponentType;
};

/** The views in the order of the navigation. */
export const VIEWS: readonly View[] = [
  { piece: '', name: texts.nav.approvals, icon: 'approvals', part: 'approvals', component: ApprovalsView },
  {
    piece: 'moderation',
    name: texts.nav.moderation,
    icon: 'moderation',
    part: 'moderation',
    component: ModerationView,
  },
  { piece: 'chat', name: texts.nav.chat, icon: 'chat', part: 'chat', component: ChatView },
  { piece: 'sessions', name: texts.nav.sessions, icon: 'sessions', part: 'sessions', component: SessionsView },
  { piece: 'recharges', name: texts.nav.recharges, icon: 'recharges', part: 'recharges', component: RechargesView },
  { piece: 'settings', name: texts.nav.settings, icon: 'settings', component: SettingsView },
];

/** The view of a path. `/login` is the first view for a user who is logged in. */
export const viewOf = (pieces: readonly string[]): View | undefined =>
  VIEWS.find(({ piece }) => piece === (pieces[0] === 'login' ? '' : (pieces[0] ?? '')));
