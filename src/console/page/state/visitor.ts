import { computed, signal } from '@preact/signals';
import type { Me, PartName } from '../../protocol.ts';
import { type Api, createApi } from '../api/request.ts';
import { forgetConversation } from './tab-memory.ts';

/** The answer of `GET /api/me`; nothing until it is there. */
export const me = signal<Me | undefined>(undefined);

/** Who is logged in, if anybody. */
export const visitor = computed((): Me['user'] => me.value?.user ?? null);

/** Whether the visitor may decide requests and chat. */
export const mayDecide = computed(() => visitor.value !== null && visitor.value.role !== 'viewer');

/** Whether the visitor may change keys, abort and delete. */
export const isAdmin = computed(() => visitor.value?.role === 'admin');

/** The console's API as this visitor. A session that has ended leads to the login. */
export const api: Api = createApi({
  csrf: () => me.value?.csrf ?? '',
  onLoggedOut: () => {
    if (me.value !== undefined && me.value.user !== null) me.value = { ...me.value, user: null };
  },
});

let lastName: string | undefined;

/** Asks who is logged in, and what is set up. What the page holds of one person is gone before another sees it. */
export const loadMe = async (): Promise<Me> => {
  const answer = await api.get<Me>('/api/me');
  const name = answer.user?.name;
  if (name !== undefined && lastName !== undefined && name !== lastName) {
    forgetConversation();
    location.reload();
    // The page is left before anything more is shown.
    return new Promise<Me>(() => {});
  }
  lastName = name ?? lastName;
  me.value = answer;
  return answer;
};

/** Why a part is not set up, as the server's sentence; nothing when it is. */
export const missingPart = (part: PartName): string | undefined => {
  const state = me.value?.parts[part];
  return state === true || state === undefined ? undefined : state;
};

/** Logs in. Throws `ApiError`: 401 for a wrong name or password, 429 after too many tries. */
export const logIn = async (name: string, password: string): Promise<void> => {
  // The token of a session that has ended is not taken.
  me.value = { ...(await api.get<Me>('/api/me')), user: null };
  await api.send('POST', '/api/login', { name, password });
  await loadMe();
};

/** Ends the session, here and at the server, with all that the page holds. */
export const logOut = async (): Promise<void> => {
  await api.send('POST', '/api/logout');
  forgetConversation();
  location.reload();
};
