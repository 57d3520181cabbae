import type { Ids } from '../../../../src/agent/protocol/ids.ts';
import type { DirectoryEvent, Store } from '../../../../src/agent/store/store.ts';
import { answer, idsFrom, sessionOf, textPart, toolPart, userMessage } from '../samples.ts';

/** A place for one store. Opening it again, after the store was closed, finds what was kept, if the store is a lasting one. */
type StorePlace = { readonly open: (ids: Ids) => Promise<Store>; readonly clear: () => Promise<void> };

export type StoreKind = {
  /** How often random commits are compared with a plain list. */
  readonly randomRuns?: number;
  readonly createPlace: () => Promise<StorePlace>;
  readonly isLasting: boolean;
};

export const idsOf = (events: readonly DirectoryEvent[]): string[] => events.map(({ event }) => event.id);

export const ascend = (ids: readonly string[]): boolean =>
  ids.every((id, index) => index === 0 || (ids[index - 1] ?? '') < id);

export const infoIDs = (messages: readonly { readonly info: { readonly id: string } }[]): string[] =>
  messages.map(({ info }) => info.id);

/** A conversation in one session: a question, and an answer of two parts of which one has a long output. */
export const CONVERSATION = [
  { kind: 'session', session: sessionOf('ses_1') },
  { kind: 'message', message: userMessage('msg_1', 'ses_1') },
  { kind: 'part', part: textPart({ id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' }, 'a question') },
  { kind: 'message', message: answer('msg_2', 'ses_1') },
  { kind: 'part', part: toolPart({ id: 'prt_3', messageID: 'msg_2', sessionID: 'ses_1' }) },
  { kind: 'part', part: textPart({ id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_1' }, 'an answer') },
  { kind: 'output', sessionID: 'ses_1', partID: 'prt_3', text: 'the whole output' },
] as const;

/** Stores of one kind for checks, each in a place of its own, which is cleared afterwards. */
export type StorePlaces = Pick<StoreKind, 'isLasting'> & {
  readonly randomRuns: number;
  readonly withPlace: (body: (place: StorePlace) => Promise<void>) => Promise<void>;
  readonly withStore: (body: (store: Store) => Promise<void>) => Promise<void>;
};

/** The places of a kind of store. */
export const placesOf = ({ createPlace, isLasting, randomRuns = 60 }: StoreKind): StorePlaces => {
  const withPlace = async (body: (place: StorePlace) => Promise<void>): Promise<void> => {
    const place = await createPlace();
    try {
      await body(place);
    } finally {
      await place.clear();
    }
  };
  const withStore = (body: (store: Store) => Promise<void>): Promise<void> =>
    withPlace(async ({ open }) => {
      const store = await open(idsFrom());
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });
  return { isLasting, randomRuns, withPlace, withStore };
};
