import type { StoredConversation, StoredExchange } from '../record.ts';
import { previousResponseDecided, responseIDFor } from '../response-id.ts';

/** The exchange that goes on with the turn of the one at this index, which asked for an approval. Undefined where none does. */
export const continuationOf = (exchanges: readonly StoredExchange[], index: number): StoredExchange | undefined => {
  const { asked, promptID } = exchanges[index] ?? {};
  return asked && exchanges.find((later, at) => at > index && later.promptID === promptID);
};

/** The answers of a turn, each but the last up to calls of the client: of those that an approval divides, the last one. */
export const answersIn = (exchanges: readonly StoredExchange[], promptID: string): readonly StoredExchange[] =>
  exchanges.filter((one, index) => one.promptID === promptID && continuationOf(exchanges, index) === undefined);

/** Faults with `bad-input` where the response at this index asked for an approval and another one goes on with its turn. */
export const refuseDecided = ({ sessionID, exchanges }: StoredConversation, index: number): void => {
  const { token } = continuationOf(exchanges, index) ?? {};
  if (token !== undefined) throw previousResponseDecided(token === '' ? undefined : responseIDFor(sessionID, token));
};
