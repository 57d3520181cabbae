import type { Ids } from './protocol/ids.ts';

/** The next text of the same length that sorts after this one. Letters and digits in the order of their codes. */
const successorOf = (id: string): string => {
  const place = /[^z]z*$/.exec(id)?.index ?? 0;
  const code = id.charCodeAt(place);
  const raised = code === 0x39 ? 'A' : code === 0x5a ? 'a' : String.fromCharCode(code + 1);
  return id.slice(0, place) + raised + '0'.repeat(id.length - place - 1);
};

/**
 * The id of a new event. It sorts after the last one whatever the clock says: clocks are set back, also between two runs of
 * the server, and the time in an id starts again from zero every 2.2 years.
 */
export const nextEventID = (ids: Ids, last: string): string => {
  const fresh = ids('event');
  return fresh > last ? fresh : successorOf(last);
};
